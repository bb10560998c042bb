'use strict'
// Loaded in place of coherence.cjs where the service does not know the version of Node that the app runs on. An older one than
// 18 would not understand the other files.
if (Number.parseInt(process.versions.node, 10) >= 18) require('./coherence.cjs')
