/** An edge in a process of its own, with the settings that its parent sends. */
import { isProcessGone, processName } from '../../../src/base/index.ts'
import { type EdgeSettings, runEdge } from '../../../src/edge/index.ts'
import { createChildLife, live } from '../../../src/processes/child.ts'

await live(async () => {
  const life = createChildLife<EdgeSettings, null>()
  const settings = await life.begin
  const edge = await runEdge({ ...settings, name: settings.name || processName(), isGone: isProcessGone })
  life.ready(null)
  await edge.stop(await life.stopRequested)
  life.leave()
})
