"""URDF, the robot format of ROS."""
