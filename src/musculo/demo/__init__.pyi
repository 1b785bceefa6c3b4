"""What `musculo.demo` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.demo.chain import ArmChain as ArmChain
from musculo.demo.chain import arm_chain as arm_chain
from musculo.demo.shipped_models import ARM_FILE as ARM_FILE
from musculo.demo.shipped_models import ARM_FLEXION_FILE as ARM_FLEXION_FILE
from musculo.demo.shipped_models import MODEL_FILE as MODEL_FILE
from musculo.demo.shipped_models import arm as arm
from musculo.demo.shipped_models import arm_flexion as arm_flexion
