"""ODE, in a child process, through the bindings of Panda3D."""
