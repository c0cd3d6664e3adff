"""EN001 to EN016: what there is to say about a world before an engine runs it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

TOPICS = (
    Topic(
        "EN001",
        "Body without mass",
        "MuJoCo and ODE move no body of mass 0. It runs with 1e-12 kg, and its moment of inertia is kept.",
        (
            warning("EN001", "body '{body}' has no mass; it runs with {mass} kg, its moment kept", "give it a mass"),
            error("EN001.refused", "body '{body}' has no mass; {engine} does not move such", "give it a mass"),
        ),
    ),
    Topic(
        "EN002",
        "Moment that no solid has",
        "The two smaller principal moments of a solid add up to at least the largest. DART takes others as they are; "
        "MuJoCo does not. The two smaller ones are raised by the same amount until they do; the largest is kept.",
        (
            warning(
                "EN002",
                "the moment of body '{body}' breaks the triangle inequality; the two smaller principal moments are "
                "raised by {change} kg·m²",
                "check its inertia",
                "runs it as it is",
            ),
        ),
    ),
    Topic(
        "EN003",
        "Moment that is not positive",
        "A principal moment of 0 or less is raised to 1e-12 kg·m², and further if the triangle inequality asks it.",
        (
            warning(
                "EN003",
                "the moment of body '{body}' is not positive definite; its principal ones grow by up to {change} kg·m²",
                "check its inertia",
            ),
            error("EN003.refused", "the moment of body '{body}' is not positive definite; {engine} runs no such"),
        ),
    ),
    Topic(
        "EN004",
        "Soft body",
        "Only DART moves soft skins. Elsewhere the rigid core runs, without the mass of the skin.",
        (warning("EN004", "the soft skin of body '{body}' is left out; its rigid core runs", "use the dart engine"),),
    ),
    Topic(
        "EN005",
        "Nested too deep",
        "MuJoCo holds trees of bodies up to a depth of some thousand.",
        (error("EN005", "the bodies of model '{model}' are nested {depth} deep; {engine} holds {most}"),),
    ),
    Topic(
        "EN006",
        "Joint that the engine lacks",
        "Each engine has its own joints. MuJoCo runs all of ours; DART and ODE do not.",
        (
            error("EN006", "{engine} has no {kind} joint ('{joint}')", "use the mujoco engine"),
            error("EN006.loop", "{engine} has no joint that closes a loop ('{joint}')", "use the mujoco engine"),
        ),
    ),
    Topic(
        "EN007",
        "Ball joint with different springs about its axes",
        "MuJoCo has one stiffness for the three axes of a ball, about the zero position. The mean is taken. "
        "Damping and friction are kept for each axis if the joint's axes are those of its child.",
        (
            warning(
                "EN007",
                "the {what} of joint '{joint}' differs about its axes; {engine} takes the mean",
                "an euler joint has a value for each axis",
            ),
            warning(
                "EN007.frame",
                "springs, damping and friction of joint '{joint}' act along the axes of its own frame in {engine}",
            ),
            warning("EN007.rest", "the springs of joint '{joint}' rest at zero in {engine}, not where the file says"),
        ),
    ),
    Topic(
        "EN008",
        "Limits of a ball joint",
        "DART limits each coordinate of a rotation vector; MuJoCo limits the angle to the widest of these limits.",
        (
            warning("EN008", "the limits of joint '{joint}' become one cone of {angle} rad in {engine}"),
            warning("EN008.open", "the limits of rotation of '{joint}' do not hold in {engine}: they make no cone"),
        ),
    ),
    Topic(
        "EN009",
        "Velocity limits",
        "DART bounds velocities where limits are enforced; MuJoCo and ODE do not.",
        (warning("EN009", "the velocity limits of joint '{joint}' are not enforced by {engine}"),),
    ),
    Topic(
        "EN010",
        "Shape that cannot be touched",
        "A mesh that cannot be loaded, or has fewer than four points, collides with nothing; rays are no solids.",
        (
            warning("EN010", "a {shape} of body '{body}' collides with nothing: it has no volume that could be loaded"),
            error("EN010.refused", "{engine} crashes on the mesh of body '{body}' that cannot be loaded"),
        ),
    ),
    Topic(
        "EN011",
        "Mesh that collides as its hull",
        "MuJoCo takes the convex hull of a mesh that moves; holes and hollows are filled. Meshes of static models are "
        "taken apart into their triangles, up to 4,000 of them.",
        (info("EN011", "a {shape} of body '{body}' collides as its convex hull in {engine}"),),
    ),
    Topic(
        "EN012",
        "Stops of an angular motor",
        "MuJoCo has no stops between bodies that no axis ties; the motor pushes all the same.",
        (warning("EN012", "the stops of the motor '{joint}' do not hold in {engine}", "use the ode engine"),),
    ),
    Topic(
        "EN013",
        "Softness of motors and constraints",
        "ERP and CFM depend on ODE's step. MuJoCo's motors, loops and contacts are as stiff as the step allows; the "
        "springs of stops and suspensions are kept.",
        (
            info("EN013", "ERP and CFM of joint '{joint}' do not count in {engine}; it is stiff"),
            info("EN013.world", "ERP and CFM of the world do not count in {engine}"),
        ),
    ),
    Topic(
        "EN014",
        "Sleeping body",
        "ODE lets a disabled body sleep until something touches it; MuJoCo and DART move it from the start.",
        (info("EN014", "body '{body}' is disabled in the file; {engine} moves it from the start"),),
    ),
    Topic(
        "EN015",
        "Joint that follows another",
        "A mimic joint follows one of its own kind. DART's parser and ODE know none.",
        (
            error("EN015", "joint '{joint}' follows '{other}', which is not in its model or of another kind"),
            warning("EN015.lost", "{engine} does not know that joint '{joint}' follows '{other}'"),
        ),
    ),
    Topic(
        "EN016",
        "Actuator that works otherwise",
        "A servo on a ball or free joint brakes in DART; in MuJoCo such a joint runs free. A velocity actuator told "
        "nothing stops after a step in DART and MuJoCo; in ODE it goes on.",
        (
            warning("EN016", "the servo of joint '{joint}' ({kind}) does not brake in {engine}", "use an euler joint"),
            warning("EN016.velocity", "the velocity actuator of '{joint}' keeps its initial velocity in {engine}"),
        ),
    ),
)

CATALOGUE = Catalogue("DART", TOPICS)
