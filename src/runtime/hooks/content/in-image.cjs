'use strict'
// Loaded in place of content.cjs where the service does not know the version of Node that the app runs on.
if (Number.parseInt(process.versions.node, 10) >= 20) require('./content.cjs')
