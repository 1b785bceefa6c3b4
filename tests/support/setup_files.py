"""Set-up files of OpenSim's tools, small ones for every layout; none of them is anyone's file."""

from __future__ import annotations

TASKS = (
    '<IKTaskSet{attributes}><objects><IKMarkerTask name="m"><apply>true</apply><weight>2.5</weight></IKMarkerTask>'
    '<IKCoordinateTask name="c"><apply>false</apply><weight>3</weight><value_type>manual_value</value_type>'
    "<value>0.25</value></IKCoordinateTask>"
    '<IKCoordinateTask name="d"><weight>1</weight><value_type>from_file</value_type></IKCoordinateTask>'
    "</objects><groups/></IKTaskSet>"
)
SCALE_TASKS = f'<OpenSimDocument Version="30000">{TASKS.format(attributes="")}</OpenSimDocument>'
SCALE_SETUP = """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="30000">
<ScaleTool name="s01">
 <mass>72.6</mass> <height>1800</height> <age>22</age> <notes>a subject who is nobody</notes>
 <GenericModelMaker name=""><model_file>generic.osim</model_file><marker_set_file>markers.xml</marker_set_file>
 </GenericModelMaker>
 <ModelScaler name="">
  <apply>true</apply>
  <scaling_order> measurements manualScale</scaling_order>
  <MeasurementSet name="set"><objects>
   <Measurement name="torso"><apply>true</apply>
    <MarkerPairSet name=""><objects><MarkerPair name=""><markers> Top.Head R.ASIS</markers></MarkerPair>
     <MarkerPair name=""><markers> Top.Head L.ASIS</markers></MarkerPair></objects><groups/></MarkerPairSet>
    <BodyScaleSet name=""><objects><BodyScale name="torso"><axes> X Z</axes></BodyScale>
     <BodyScale name="pelvis"><axes> Y</axes></BodyScale></objects><groups/></BodyScaleSet>
   </Measurement>
   <Measurement name="off"><apply>false</apply><MarkerPairSet><objects/></MarkerPairSet>
    <BodyScaleSet><objects/></BodyScaleSet></Measurement>
  </objects><groups/></MeasurementSet>
  <ScaleSet name="manual"><objects>
   <Scale name=""><scales> 1.1 0.9 1.05</scales><segment>femur_r</segment><apply>true</apply></Scale>
  </objects><groups/></ScaleSet>
  <marker_file>static.trc</marker_file>
  <time_range> 1 2</time_range>
  <preserve_mass_distribution>true</preserve_mass_distribution>
  <output_model_file>scaledOnly.osim</output_model_file>
  <output_scale_file>scaleSet.xml</output_scale_file>
 </ModelScaler>
 <MarkerPlacer name="">
  <apply>true</apply>
  <IKTaskSet file="tasks.xml"/>
  <marker_file>static.trc</marker_file>
  <coordinate_file>Unassigned</coordinate_file>
  <time_range> 1 2</time_range>
  <output_motion_file>static.mot</output_motion_file>
  <output_model_file>simbody.osim</output_model_file>
  <output_marker_file>Unassigned</output_marker_file>
  <max_marker_movement>-1</max_marker_movement>
 </MarkerPlacer>
</ScaleTool>
</OpenSimDocument>
"""

_TRIAL = (
    '<IKTrialSet name=""><objects><IKTrial name="walk"><marker_file>walk.trc</marker_file>'
    "<coordinate_file>walk.mot</coordinate_file><time_range>0.5 1.5</time_range>"
    "<output_motion_file>out.mot</output_motion_file><include_markers>true</include_markers></IKTrial>"
    '<IKTrial name="run"><marker_file>run.trc</marker_file></IKTrial></objects></IKTrialSet>'
)
_IK = f"<model_file>m.osim</model_file>{TASKS.format(attributes='')}<optimizer_algorithm>cfsqp</optimizer_algorithm>"
_ANALYZE = (
    "<model_file>m.osim</model_file><replace_actuator_set>true</replace_actuator_set>"
    "<actuator_set_files> a.xml b.xml </actuator_set_files><controls_file>c.xml</controls_file>"
    "<results_directory>Results</results_directory><initial_time>0.5</initial_time><final_time>2.5</final_time>"
    "<output_precision>12</output_precision><coordinates_file>q.mot</coordinates_file>"
    '<AnalysisSet name="Analyses"><objects>{analyses}</objects></AnalysisSet>'
)
_MANY = (
    '<MuscleAnalysis name="ma"><muscle_list> soleus_r tibant_r </muscle_list><moment_arm_coordinate_list/>'
    "<compute_moments>false</compute_moments></MuscleAnalysis>"
    '<BodyKinematics name="bk"><bodies> pelvis center_of_mass</bodies>'
    "<express_results_in_body_local_frame>true</express_results_in_body_local_frame></BodyKinematics>"
    '<PointKinematics name="pk"><on>false</on><body_name>pelvis</body_name>'
    "<relative_to_body_name>torso</relative_to_body_name><point_name>p</point_name><point> 0.1 0.2 0.3</point>"
    "</PointKinematics>"
    '<JointReaction name="jr"><forces_file>f.sto</forces_file><joint_names> hip_r knee_r </joint_names>'
    "<apply_on_bodies> child parent</apply_on_bodies><express_in_frame> ground child</express_in_frame>"
    "</JointReaction>"
    '<StaticOptimization name="so"><activation_exponent>3</activation_exponent><step_interval>4</step_interval>'
    "<optimizer_max_iterations>7</optimizer_max_iterations></StaticOptimization>"
    '<Kinematics name="k"><in_degrees>false</in_degrees></Kinematics><Actuation name="a"/>'
    '<ForceReporter name="fr"><include_constraint_forces>true</include_constraint_forces></ForceReporter>'
    '<StatesReporter name="other"/>'
)
_INVERSE = (
    '<InverseDynamics name="id"><on>true</on><use_model_force_set>{forces}</use_model_force_set></InverseDynamics>'
)


def _document(version: int, tool: str, content: str) -> str:
    return f'<OpenSimDocument Version="{version}"><{tool} name="t">{content}</{tool}></OpenSimDocument>'


# By name: the tool that opens it, and the file.
OLD_SETUPS = {
    "trials": ("InverseKinematicsTool", _document(20201, "IKTool", _IK + _TRIAL)),
    "trials without a document": ("InverseKinematicsTool", f'<IKTool name="t">{_IK}{_TRIAL}</IKTool>'),
    "actuators": ("AnalyzeTool", _document(10800, "AnalyzeTool", _ANALYZE.format(analyses=_MANY))),
    "actuators of a newer document": ("AnalyzeTool", _document(10902, "AnalyzeTool", _ANALYZE.format(analyses=_MANY))),
    "actuators, too late": ("AnalyzeTool", _document(30000, "AnalyzeTool", _ANALYZE.format(analyses=_MANY))),
    "a bare tool": ("AnalyzeTool", f'<AnalyzeTool name="t">{_ANALYZE.format(analyses=_MANY)}</AnalyzeTool>'),
    "inverse dynamics as an analysis": (
        "InverseDynamicsTool",
        _document(20201, "AnalyzeTool", _ANALYZE.format(analyses=_INVERSE.format(forces="false"))),
    ),
    "inverse dynamics with forces": (
        "InverseDynamicsTool",
        _document(20100, "AnalyzeTool", _ANALYZE.format(analyses=_INVERSE.format(forces="true"))),
    ),
    "empty tools": ("ScaleTool", _document(40600, "ScaleTool", "")),
    "empty kinematics": ("InverseKinematicsTool", _document(40600, "InverseKinematicsTool", "")),
    "empty dynamics": ("InverseDynamicsTool", _document(40600, "InverseDynamicsTool", "")),
    "empty analyses": ("AnalyzeTool", _document(40600, "AnalyzeTool", "")),
    "empty elements": (
        "AnalyzeTool",
        _document(
            40600,
            "AnalyzeTool",
            "<results_directory/><AnalysisSet><objects><MuscleAnalysis name='a'><muscle_list/></MuscleAnalysis>"
            "<PointKinematics name='p'><body_name/><point_name/></PointKinematics></objects></AnalysisSet>",
        ),
    ),
}


def scale_tool(model: str, trial: str, measurements: dict, manual: dict, markers: list[str], order: str) -> str:
    """A set-up that scales by measurements and by hand, and places markers by the same trial.

    `measurements` are pairs and bodies by name. It writes scaled.osim, placed.osim, pose.sto and factors.xml.
    """

    def objects(tag: str, members: list[str]) -> str:
        return f"<{tag}><objects>{''.join(members)}</objects></{tag}>"

    made = []
    for name, (pairs, bodies) in measurements.items():
        pair_set = [f"<MarkerPair><markers>{a} {b}</markers></MarkerPair>" for a, b in pairs]
        body_set = [f'<BodyScale name="{b}"><axes>{" ".join(axes)}</axes></BodyScale>' for b, axes in bodies]
        content = objects("MarkerPairSet", pair_set) + objects("BodyScaleSet", body_set)
        made.append(f'<Measurement name="{name}"><apply>true</apply>{content}</Measurement>')
    scales = [
        f"<Scale><scales>{x} {y} {z}</scales><segment>{body}</segment><apply>true</apply></Scale>"
        for body, (x, y, z) in manual.items()
    ]
    tasks = [f'<IKMarkerTask name="{m}"><apply>true</apply><weight>1</weight></IKMarkerTask>' for m in markers]
    timing = f"<marker_file>{trial}</marker_file><time_range>0.5 0.75</time_range>"
    return _document(
        40000,
        "ScaleTool",
        f"<mass>70</mass><GenericModelMaker><model_file>{model}</model_file></GenericModelMaker>"
        f"<ModelScaler><apply>true</apply><scaling_order>{order}</scaling_order>"
        f"{objects('MeasurementSet', made)}{objects('ScaleSet', scales)}{timing}"
        "<preserve_mass_distribution>false</preserve_mass_distribution>"
        "<output_model_file>scaled.osim</output_model_file><output_scale_file>factors.xml</output_scale_file>"
        f"</ModelScaler><MarkerPlacer><apply>true</apply>{objects('IKTaskSet', tasks)}{timing}"
        "<output_motion_file>pose.sto</output_motion_file><output_model_file>placed.osim</output_model_file>"
        "</MarkerPlacer>",
    )


# Forces for the leg of the demo: reserves and residuals, and a spring along a path.
FORCE_SET = (
    '<OpenSimDocument Version="20302"><ForceSet name="f"><objects><CoordinateActuator name="reserve">'
    "<isDisabled>false</isDisabled><min_control>-Inf</min_control><coordinate>hip_flexion</coordinate>"
    '<optimal_force>10</optimal_force></CoordinateActuator><PointActuator name="FX"><body>pelvis</body>'
    "<point>0 0.1 0</point><direction>1 0 0</direction><optimal_force>100</optimal_force></PointActuator>"
    '<TorqueActuator name="MZ"><bodyA>pelvis</bodyA><bodyB>ground</bodyB><axis>0 0 1</axis></TorqueActuator>'
    '<PathSpring name="spring"><GeometryPath><PathPointSet><objects><PathPoint name="a"><location>0 0 0</location>'
    '<body>pelvis</body></PathPoint><PathPoint name="b"><location>0 0.1 0</location><body>foot</body></PathPoint>'
    "</objects></PathPointSet></GeometryPath><resting_length>0.1</resting_length><stiffness>5</stiffness>"
    "<dissipation>0</dissipation></PathSpring></objects></ForceSet></OpenSimDocument>"
)

# What OpenSim 4.6 writes of its tools for IMUs.
IMU_SETUPS = (
    """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40600">
	<IMUPlacer name="placer">
		<model_file>model.osim</model_file>
		<base_imu_label>pelvis_imu</base_imu_label>
		<base_heading_axis>-z</base_heading_axis>
		<sensor_to_opensim_rotations>-1.5707963267948966 0 0</sensor_to_opensim_rotations>
		<orientation_file_for_calibration>still.sto</orientation_file_for_calibration>
		<output_model_file>placed.osim</output_model_file>
	</IMUPlacer>
</OpenSimDocument>
""",
    """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40600">
	<IMUInverseKinematicsTool name="imu">
		<results_directory>results</results_directory>
		<model_file>placed.osim</model_file>
		<constraint_weight>Inf</constraint_weight>
		<accuracy>1.0000000000000001e-05</accuracy>
		<time_range>-Inf 2</time_range>
		<output_motion_file>poses.mot</output_motion_file>
		<report_errors>true</report_errors>
		<sensor_to_opensim_rotations>0 0 0</sensor_to_opensim_rotations>
		<orientations_file>trial.sto</orientations_file>
		<OrientationWeightSet name="orientation_weights">
			<objects>
				<OrientationWeight name="pelvis_imu">
					<weight>2</weight>
				</OrientationWeight>
			</objects>
			<groups />
		</OrientationWeightSet>
	</IMUInverseKinematicsTool>
</OpenSimDocument>
""",
)

# Set-ups of simulations in old and new layouts: what OpenSim makes of each is compared with ours.
_STATED = (
    "<model_file>m.osim</model_file><force_set_files>a.xml b.xml</force_set_files>"
    "<results_directory>R</results_directory><initial_time>0.25</initial_time><final_time>0.75</final_time><integrator_error_tolerance>1e-3"
    "</integrator_error_tolerance><maximum_number_of_integrator_steps>99</maximum_number_of_integrator_steps>"
)
_FOLLOWED = (
    "<desired_kinematics_file>q.mot</desired_kinematics_file><desired_points_file>p.sto</desired_points_file>"
    "<task_set_file>t.xml</task_set_file><constraints_file>l.xml</constraints_file>"
    "<lowpass_cutoff_frequency>6</lowpass_cutoff_frequency><optimizer_derivative_dx>0.5</optimizer_derivative_dx>"
    "<optimizer_convergence_criterion>0.25</optimizer_convergence_criterion>"
    "<numerical_derivative_step_size>1e-3</numerical_derivative_step_size>"
    "<optimization_convergence_tolerance>1e-2</optimization_convergence_tolerance>"
    "<use_verbose_printing>true</use_verbose_printing>"
)
_SPRINGS = (
    "<body1_linear_corrective_spring_active>{on}</body1_linear_corrective_spring_active>"
    "<body1_scaling_rise_time_on>0.5</body1_scaling_rise_time_on><spring_force_threshold>1</spring_force_threshold>"
    "<use_specified_dt>true</use_specified_dt>"
)
SIMULATION_SETUPS = {
    "empty forward": ("ForwardTool", _document(40600, "ForwardTool", "")),
    "empty rra": ("RRATool", _document(40600, "RRATool", "")),
    "empty cmc": ("CMCTool", _document(40600, "CMCTool", "")),
    "forward": ("ForwardTool", _document(40000, "ForwardTool", _STATED + "<states_file>x.sto</states_file>")),
    "forward with springs": ("ForwardTool", _document(20300, "ForwardTool", _STATED + _SPRINGS.format(on="true"))),
    "forward with controls": (
        "ForwardTool",
        _document(10900, "ForwardTool", _STATED + "<controls_file>c.xml</controls_file>"),
    ),
    "forward without a document": ("ForwardTool", f'<ForwardTool name="t">{_STATED}</ForwardTool>'),
    "rra": (
        "RRATool",
        _document(
            30000,
            "RRATool",
            _STATED + _FOLLOWED + "<adjust_com_to_reduce_residuals>true</adjust_com_to_reduce_residuals>"
            "<adjusted_com_body>torso</adjusted_com_body><output_model_file>adjusted.osim</output_model_file>"
            "<initial_time_for_com_adjustment>0.5</initial_time_for_com_adjustment>"
            "<rra_controls_file>c.xml</rra_controls_file><cmc_time_window>0.5</cmc_time_window>",
        ),
    ),
    "cmc": (
        "CMCTool",
        _document(
            20302,
            "CMCTool",
            _STATED + _FOLLOWED + "<cmc_time_window>0.005</cmc_time_window><actuators_to_exclude>a b"
            "</actuators_to_exclude><use_fast_optimization_target>false</use_fast_optimization_target>"
            "<rra_controls_file>c.xml</rra_controls_file><use_curvature_filter>true</use_curvature_filter>"
            "<optimizer_max_iterations>7</optimizer_max_iterations><optimizer_print_level>3</optimizer_print_level>",
        ),
    ),
}
OLD_SETUPS |= SIMULATION_SETUPS
