"""What `musculo.io` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.io.c3d import read_c3d as read_c3d
from musculo.io.data_tables import read_table as read_table
from musculo.io.data_tables import write_table as write_table
from musculo.io.electromyogram_files import read_electromyograms as read_electromyograms
from musculo.io.external_load_files import read_external_loads as read_external_loads
from musculo.io.external_load_files import write_external_loads as write_external_loads
from musculo.io.force_set import read_force_set as read_force_set
from musculo.io.force_set import with_force_sets as with_force_sets
from musculo.io.function_path_set import with_function_paths as with_function_paths
from musculo.io.marker_columns import read_markers as read_markers
from musculo.io.netcdf import read_netcdf as read_netcdf
from musculo.io.netcdf import write_netcdf as write_netcdf
from musculo.io.normal_range_files import read_normal_ranges as read_normal_ranges
from musculo.io.orientation_files import read_orientations as read_orientations
from musculo.io.orientation_files import write_orientations as write_orientations
from musculo.io.osim import read_osim as read_osim
from musculo.io.osim import write_osim as write_osim
from musculo.io.plate_forces import read_plate_forces as read_plate_forces
from musculo.io.storage import read_storage as read_storage
from musculo.io.storage import write_storage as write_storage
from musculo.io.trc import read_trc as read_trc
from musculo.io.trc import write_trc as write_trc
from musculo.io.zarr_folders import read_zarr as read_zarr
from musculo.io.zarr_folders import write_zarr as write_zarr
