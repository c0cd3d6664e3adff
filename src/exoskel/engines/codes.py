"""EN001 to EN020: diagnostics about a world before an engine runs it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

TOPICS = (
    Topic(
        "EN001",
        "Body without mass",
        "MuJoCo and ODE do not support bodies of mass 0. In MuJoCo, they have 1e-12 kg and their own moments.",
        warning(
            "EN001", "body '{body}' has no mass; it runs with {mass} kg and its moment of inertia", "give it a mass"
        ),
        error(
            "EN001.refused", "body '{body}' has no mass; {engine} does not support massless bodies", "give it a mass"
        ),
    ),
    Topic(
        "EN002",
        "Moment of inertia that violates the triangle inequality",
        "The two smaller principal moments of a solid add up to at least the largest. DART accepts other moments; "
        "MuJoCo does not. The two smaller moments are raised by the same amount; the largest is unchanged.",
        warning(
            "EN002",
            "the moment of inertia of body '{body}' violates the triangle inequality; the two smaller principal "
            "moments are raised by {change} kg·m²",
            "check its inertia",
            "uses the moment unchanged",
        ),
    ),
    Topic(
        "EN003",
        "Moment of inertia that is not positive definite",
        "A principal moment of 0 or less is raised to 1e-12 kg·m², and further if the triangle inequality requires it.",
        warning(
            "EN003",
            "the moment of inertia of body '{body}' is not positive definite; principal moments are raised by up "
            "to {change} kg·m²",
            "check its inertia",
        ),
        error(
            "EN003.refused",
            "the moment of inertia of body '{body}' is not positive definite; {engine} does not support it",
        ),
    ),
    Topic(
        "EN004",
        "Soft body",
        "MuJoCo moves soft skins as DART does. In DART, the triangles of a skin collide; in MuJoCo, its points "
        "collide, so objects smaller than a triangle may pass between them. ODE and MuJoCo Warp run the rigid core, "
        "without the mass of the skin. So does MuJoCo if the skin has too few points to be a surface.",
        warning(
            "EN004", "the soft skin of body '{body}' is ignored; its rigid core runs", "use the mujoco or dart engine"
        ),
        info("EN004.contact", "the soft skin of body '{body}' collides at its {count} points, not between them"),
    ),
    Topic(
        "EN005",
        "Nested too deeply, or too many bodies",
        "MuJoCo compiles trees of bodies up to a depth of about a thousand. Its time to compile grows with the square "
        "of the number of bodies. For a scene from a file it is estimated and limited, as it is for reading MJCF.",
        error("EN005", "the bodies of model '{model}' are nested {depth} deep; {engine} supports {most}"),
        error(
            "EN005.time",
            "{engine} cannot compile the world: it needs more than {limit}",
            "simplify the document, or raise the limit: --max-seconds (limits=Limits(seconds=...))",
        ),
    ),
    Topic(
        "EN006",
        "Joint kind that the engine does not support",
        "Each engine has its own joint kinds. MuJoCo runs all of them; DART and ODE do not.",
        error("EN006", "{engine} does not support {kind} joints ('{joint}')", "use the mujoco engine"),
        error("EN006.loop", "{engine} does not support joints that close a loop ('{joint}')", "use the mujoco engine"),
    ),
    Topic(
        "EN007",
        "Ball joint with different springs about its axes",
        "MuJoCo has one stiffness for the three axes of a ball, about the zero position: the mean. Damping and "
        "friction are preserved for each axis if the joint's axes are those of its child. The mujoco engine computes "
        "these springs itself; MuJoCo Warp and integrators other than `discrete` do not.",
        warning(
            "EN007",
            "the {what} of joint '{joint}' differs between its axes; {engine} uses the mean",
            "use an euler joint, which has a value for each axis",
        ),
        warning(
            "EN007.frame",
            "springs, damping and friction of joint '{joint}' act along the axes of its own frame in {engine}",
        ),
        warning(
            "EN007.rest",
            "the springs of joint '{joint}' rest at zero in {engine}, not at the rest position of the file",
        ),
    ),
    Topic(
        "EN008",
        "Limits of a ball joint",
        "DART limits each coordinate of a rotation vector, and so does the mujoco engine. MuJoCo limits the angle, to "
        "the widest of these limits. It does so where the bodies of the joint's tree touch something or are part of a "
        "loop, in MuJoCo Warp, and with integrators other than `discrete`.",
        warning("EN008", "the limits of joint '{joint}' become a single cone of {angle} rad in {engine}"),
        warning("EN008.open", "the rotation limits of '{joint}' are ignored in {engine}: they do not form a cone"),
        info(
            "EN008.contacts",
            "in contact, {engine} limits the angle of joint '{joint}', not each of its coordinates",
        ),
    ),
    Topic(
        "EN009",
        "Limits of velocities and positions",
        "DART stops a joint at the limits of position and velocity, where limits are enforced. A servo stops at them "
        "in any case. So does the mujoco "
        "engine, but without velocity limits of ball and free joints while their bodies touch something. MuJoCo Warp, "
        "integrators other than `discrete`, and ODE never enforce velocity limits. There, a joint exceeds its position "
        "limits for a few steps.",
        warning("EN009", "the velocity limits of joint '{joint}' are not enforced by {engine}"),
        warning(
            "EN009.contacts", "in contact, {engine} does not enforce the velocity limits of joint '{joint}' ({kind})"
        ),
        warning(
            "EN009.servo", "the servo of joint '{joint}' moves beyond its limits in {engine}; in DART it stops at them"
        ),
        info("EN009.soft", "joint '{joint}' exceeds its limits for a few steps in {engine}; in DART it stops at them"),
    ),
    Topic(
        "EN010",
        "Shape that does not collide",
        "A mesh does not collide if it cannot be loaded or has fewer than four points. Rays never collide.",
        warning("EN010", "a {shape} of body '{body}' does not collide: it has no volume, or cannot be loaded"),
        error("EN010.refused", "{engine} crashes on the mesh of body '{body}', which cannot be loaded"),
    ),
    Topic(
        "EN011",
        "Mesh that collides as its convex hull",
        "MuJoCo uses the convex hull of a moving mesh, which fills holes and hollows. Meshes of static models are "
        "divided into their triangles, up to 4,000 of them.",
        info("EN011", "a {shape} of body '{body}' collides as its convex hull in {engine}"),
    ),
    Topic(
        "EN012",
        "Stops of an angular motor",
        "MuJoCo has no stops between bodies without a common axis; the motor itself works. The mujoco engine computes "
        "the stops itself while nothing touches the bodies; MuJoCo Warp and integrators other than `discrete` do not.",
        warning("EN012", "the stops of the motor '{joint}' are ignored in {engine}", "use the ode engine"),
        warning(
            "EN012.contacts", "in contact, {engine} ignores the stops of the motor '{joint}'", "use the ode engine"
        ),
    ),
    Topic(
        "EN013",
        "Softness of motors and constraints",
        "ERP and CFM depend on ODE's step. MuJoCo's joints are rigid; its loops and contacts, and motors in contact, "
        "are as stiff as the step allows. The springs of stops and suspensions are preserved.",
        info("EN013", "the CFM of joint '{joint}' is ignored in {engine}; its motor is stiff"),
        info("EN013.contacts", "in contact, {engine} ignores the CFM of joint '{joint}'; its motor is stiff"),
        info("EN013.loop", "ERP and CFM of the stops of joint '{joint}' are ignored in {engine}; it closes a loop"),
        info("EN013.world", "joints, loops and contacts ignore the ERP and CFM of the world in {engine}"),
    ),
    Topic(
        "EN014",
        "Sleeping body",
        "ODE lets a disabled body sleep until something touches it; MuJoCo and DART simulate it from the first step.",
        info("EN014", "body '{body}' is disabled in the file; {engine} simulates it from the first step"),
    ),
    Topic(
        "EN015",
        "Mimic joint",
        "A mimic joint follows a joint of the same kind, or a slide follows a hinge, or a hinge a slide. DART's parser "
        "and ODE do not support mimic joints.",
        error(
            "EN015",
            "joint '{joint}' follows '{other}', which is not in its model, or has coordinates that it cannot follow",
        ),
        warning("EN015.lost", "{engine} ignores that joint '{joint}' follows '{other}'"),
    ),
    Topic(
        "EN016",
        "Actuator that behaves differently",
        "MuJoCo has no servo for a ball or free joint, and no velocity actuator to which other joints react. The "
        "mujoco engine computes both itself; MuJoCo Warp and integrators other than `discrete` do not. In contact, "
        "such a servo acts before the contacts, and gives way to their forces. A velocity actuator without a command "
        "stops after one step in DART and MuJoCo; in ODE it keeps its velocity.",
        warning("EN016", "the servo of joint '{joint}' ({kind}) does not brake in {engine}", "use an euler joint"),
        warning(
            "EN016.contacts",
            "in contact, the servo of joint '{joint}' ({kind}) gives way to contact forces in {engine}; in DART it "
            "keeps its speed within its force limits",
            "use an euler joint",
        ),
        warning("EN016.reaction", "other joints do not react to the velocity actuator of '{joint}' in {engine}"),
        warning(
            "EN016.locked",
            "the locked joint '{joint}' starts at rest in {engine}; in DART its initial velocity acts on other joints",
        ),
        warning("EN016.velocity", "the velocity actuator of '{joint}' keeps its initial velocity in {engine}"),
    ),
    Topic(
        "EN017",
        "Friction and servos beside springs and dampers",
        "DART advances the velocities with springs and dampers, and then applies the impulses of joint friction and "
        "servos. The mujoco engine does the same; MuJoCo Warp, integrators other than `discrete`, and worlds with "
        "ODE's motors solve both together. There, a joint that friction holds moves by about 1e-7 of a unit per step.",
        warning(
            "EN017",
            "friction and servos of model '{model}' act together with its springs and dampers in {engine}, not after "
            "them",
        ),
        info("EN017.creep", "joints of model '{model}' that friction holds creep slowly in {engine}"),
    ),
    Topic(
        "EN018",
        "Motor, stop or suspension that behaves differently from ODE's",
        "MuJoCo expresses ODE's motors, stops and suspensions by its own constraints. ODE differs: the axes of an "
        "angular motor are fixed in the world, and it reaches its speed in one step. A bounce takes one step. At a "
        "stop, a motor applies its full force, times its fudge factor, regardless of its speed. The mujoco engine "
        "computes motors and stops as ODE does while nothing touches the bodies; MuJoCo Warp and integrators other "
        "than `discrete` do not. ODE's joints yield to impacts by their CFM, and a compressed suspension does not "
        "conserve angular momentum.",
        info(
            "EN018.motor",
            "the motor '{joint}' reaches its speed over several steps in {engine}, and its axes rotate with its parent",
            "use the ode engine",
        ),
        info("EN018.bounce", "a bounce of joint '{joint}' at its stops takes about 50 steps in {engine}"),
        info("EN018.stop", "the motor of joint '{joint}' keeps its speed at the stops in {engine}"),
        info(
            "EN018.contacts",
            "in contact, {engine} approximates the motors and stops of joint '{joint}'",
            "use the ode engine",
        ),
        info(
            "EN018.yield",
            "in ODE, joints yield to the impacts of joint '{joint}' at its stops; in {engine} they are rigid",
        ),
        info(
            "EN018.suspension", "{engine} conserves angular momentum in the suspension of joint '{joint}'; ODE does not"
        ),
    ),
    Topic(
        "EN019",
        "Joint axis without direction",
        "In the reading `dart`, an axis may be zero, or the two axes of a plane parallel. DART runs "
        "such a joint: it does not move along that axis. DART does not normalise the axes of a universal joint.",
        error(
            "EN019",
            "an axis of joint '{joint}' has no direction; {engine} does not support it",
            "use a nonzero axis, or a weld joint",
        ),
        error(
            "EN019.plane",
            "the axes of joint '{joint}' do not span a plane; {engine} does not support it",
            "use two axes that are not parallel",
        ),
        warning(
            "EN019.collapse",
            "{engine} normalises the axes of the universal joint '{joint}'; in DART, its child is placed at its "
            "parent's frame",
            "use axes of length 1",
        ),
    ),
    Topic(
        "EN020",
        "Armature",
        "The inertia of rotors behind gears acts on the coordinates of joints. DART and ODE have no such inertia.",
        warning(
            "EN020",
            "the armature {value} of joint '{joint}' is not supported by {engine}; the joint accelerates faster",
            "use the mujoco engine",
        ),
    ),
    Topic(
        "EN021",
        "Actuators as springs and force limits",
        "MuJoCo has actuators. In other engines, motors limit the commands of their joints. Linear feedback becomes "
        "a spring and a damper, with the control fixed at its initial value. Other feedback is ignored.",
        info("EN021", "the motor '{actuator}' only limits the commands of its joint in {engine}"),
        warning(
            "EN021.spring",
            "the actuator '{actuator}' is a spring and damper in {engine}, with its control fixed at {control}",
        ),
        warning("EN021.force", "the control {control} of the motor '{actuator}' acts in the first step in {engine}"),
        warning(
            "EN021.limits",
            "the actuator '{actuator}' is a spring and damper without limits in {engine}, with its control fixed at "
            "{control}",
        ),
        warning("EN021.ignored", "the actuator '{actuator}' is ignored in {engine}: its feedback is not a spring"),
        warning("EN021.integrator", "the actuator '{actuator}' is ignored in {engine}: it integrates its control"),
        warning("EN021.activation", "the control of the actuator '{actuator}' acts at once in {engine}, unfiltered"),
    ),
    Topic(
        "EN022",
        "Tendons",
        "Of all engines, only MuJoCo has tendons. Others ignore them, with their springs, dampers and limits. In "
        "MuJoCo, the joints of a world with tendons have MuJoCo's own friction and limits.",
        warning("EN022", "{engine} ignores the tendon '{tendon}' and its actuators", "use the mujoco engine"),
    ),
    Topic(
        "EN023",
        "Equality constraints",
        "Of all engines, only MuJoCo has the equality constraints of a world. Loops and mimics of joints are no such "
        "constraints: see `Joint.loop` and `Joint.mimic`. In MuJoCo, the joints of a world with equality constraints "
        "have MuJoCo's own friction and limits.",
        warning("EN023", "{engine} ignores the {kind} constraint '{equality}'", "use the mujoco engine"),
    ),
)

CATALOGUE = Catalogue("DART", TOPICS)
