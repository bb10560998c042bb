/** An edge in a process of its own, with the settings that its parent sends. */
import { type EdgeSettings, runEdge } from '../../../src/edge/index.ts'
import { createChildLife, live } from '../../../src/processes/child.ts'

await live(async () => {
  const life = createChildLife<EdgeSettings, null>()
  const edge = await runEdge(await life.begin)
  life.ready(null)
  await edge.stop(await life.stopRequested)
  life.leave()
})
