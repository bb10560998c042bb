const { withWPEConfig } = require('@wpengine/atlas-next')

module.exports = withWPEConfig({})
