'use strict'
// Loaded into an app before its own code (NODE_OPTIONS=--require) where the environment has learned caching. For each request it
// notes what the app fetches while it answers, and tells the edge which content the answer is made of, by one field:
//
//   x-headland-content: 1;i:wp:post:17 c:wp:page u:0123456789abcdef
//
//  - visits.cjs     a request that is being answered, and the field of its answer, in the head or in a trailer;
//  - exchanges.cjs  requests of the app to others;
//  - bodies.cjs     copies of what came back;
//  - tags.cjs       the content in such a copy, by the system that sent it (wordpress.cjs, systems.cjs);
//  - proofs.cjs     whether the app fetches everything again for each answer, or keeps content itself;
//  - outside.cjs    sources that no request can be named for: other sockets, threads, programs;
//  - next-cache.cjs the caches of Next.js, which outlive the process.
//
// An answer that cannot be described for sure is `unsure`, and is not kept. What the app reads and sends is not changed otherwise.
const { carefully } = require('./carefully.cjs')
const { watchExchanges } = require('./exchanges.cjs')
const { watchNextCache } = require('./next-cache.cjs')
const { watchOutside } = require('./outside.cjs')
const { watchServers } = require('./visits.cjs')

if (process.env.HEADLAND_CONTENT_TAGS === 'on') {
  carefully(() => {
    watchOutside()
    watchExchanges()
    watchServers()
    watchNextCache()
  })
}
