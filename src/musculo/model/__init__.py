"""What the subject is: frozen bodies, joints, couplings, muscles, markers."""
