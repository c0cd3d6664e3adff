"""What a scene is: worlds, models, bodies, joints, shapes, and what follows from them."""
