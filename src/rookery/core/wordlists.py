"""The words of generated names, per theme: first words and second words. Imported only when a name is made."""

_DEFAULT = (
    "Able Agile Amber Azure Bold Brave Bright Brisk Calm Candid Clear Clever Cobalt Coral Crisp Daring Deft Eager "
    "Early Fair Fleet Fond Gentle Golden Grand Happy Hardy Honest Indigo Ivory Jade Jolly Keen Kind Lively Loyal "
    "Lucid Lucky Mellow Merry Mighty Neat Nimble Noble Patient Plucky Proud Quick Quiet Ready Royal Ruby Scarlet "
    "Sharp Silver Smart Snowy Steady Sunny Swift True Vivid Warm Wise Witty",
    "Badger Beaver Bison Condor Cougar Crane Curlew Dolphin Dove Eagle Egret Falcon Ferret Finch Fox Gazelle Gecko "
    "Hare Harrier Hawk Heron Ibex Ibis Jay Jackdaw Kestrel Kite Koala Lark Lemur Linnet Lynx Magpie Marten Martin "
    "Merlin Moose Newt Ocelot Oriole Osprey Otter Owl Panda Petrel Pika Plover Puffin Quail Raven Robin Rook Rover "
    "Seal Sparrow Stork Swallow Swan Tern Tiger Toucan Turtle Walrus Wren Yak",
)
_NATURE = (
    "Alpine Ashen Autumn Balmy Breezy Bright Clear Cloudy Coastal Cool Dappled Dewy Earthy Evening Evergreen Fallow "
    "Fertile Fragrant Fresh Frosty Glassy Golden Grassy Green Hazy Hilly Leafy Lush Marshy Meadow Mellow Misty Mossy "
    "Northern Open Pebbly Quiet Rainy Rocky Rolling Rustic Sandy Shady Silent Silver Snowy Southern Spring Still "
    "Summer Sunlit Tidal Verdant Wild Willow Windy Winter Wooded",
    "Acorn Alder Aspen Bay Beech Birch Bloom Bluff Brook Canyon Cedar Cliff Clover Cove Creek Dale Delta Dune Elm "
    "Fern Field Fjord Forest Garden Glade Glen Grove Harbor Hazel Heath Hill Hollow Island Ivy Juniper Lagoon Lake "
    "Larch Laurel Leaf Maple Marsh Meadow Moss Oak Orchard Pebble Pine Pond Prairie Reed Ridge River Rowan Sage Shore "
    "Spruce Stone Stream Thicket Thistle Valley Willow Wood",
)
_SPACE = (
    "Astral Aurora Binary Blazing Bright Celestial Circling Cosmic Crescent Crystal Deep Distant Drifting Eclipsed "
    "Electric Endless Far Floating Galactic Gliding Glowing Golden Gravity Halo Icy Infinite Ionic Jovian Kinetic "
    "Lunar Magnetic Martian Meridian Midnight Misty Neon Northern Nova Orbital Outer Pale Polar Prime Quantum Quiet "
    "Radiant Rising Roaming Shining Sidereal Silent Silver Solar Starlit Stellar Twilight Twin Velvet Venusian Violet "
    "Wandering Zenith",
    "Antenna Apogee Arc Array Asteroid Astronaut Atlas Beacon Belt Capsule Cluster Comet Compass Corona Cosmos Crater "
    "Dawn Dish Dome Drift Dust Engine Equinox Explorer Flare Galaxy Horizon Lander Lens Lyra Mariner Meteor Module "
    "Moon Nebula Node Observer Orbit Orion Parsec Photon Pilot Pioneer Planet Probe Pulsar Quasar Ranger Ray Ring "
    "Rocket Rover Sail Satellite Scout Shuttle Signal Sky Spark Sphere Star Station Telescope Transit Vega Voyager",
)
_MINIMAL = (
    "Ace Acorn Alto Amber Arc Ash Aspen Bay Beam Birch Bloom Bolt Brook Cedar Chip Clay Cleo Clover Cove Dale Dash "
    "Dawn Drift Echo Elm Ember Fern Finch Flint Fox Gale Gem Glen Grove Hazel Iris Ivy Jade Jay Juno Kit Lake Lark "
    "Leaf Lime Luna Lynx Mint Moss Nova Oak Onyx Opal Orca Otter Owl Pearl Pine Pip Plum Quill Rain Reed Ridge River "
    "Robin Rook Rowan Ruby Sage Sky Sol Spark Star Stone Tide Topaz Vale Wave Wren Zen Zest",
    "",
)

THEMES = {"default": _DEFAULT, "nature": _NATURE, "space": _SPACE, "minimal": _MINIMAL}
