/**
 * A process that makes random puts and notes until it is killed, by itself or by the test. It reports them on a pipe,
 * by synchronous writes: `? …` before an operation and `! …` after it was acknowledged.
 *
 * node cache-disk-writer.ts folder seed first-key kill-after maxBytes segmentBytes
 */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { openDisk } from '../../../src/edge/cache/disk/index.ts'
import { bodyOf, random } from './cache-disk-model.ts'

const [folder = '', seed = '', firstKey = '', killAfter = '', maxBytes = '', segmentBytes = ''] = process.argv.slice(2)
const next = random(Number(seed))
const say = (line: string) => writeSync(1, `${line}\n`)

const disk = await openDisk({
  folder,
  maxBytes: Number(maxBytes),
  segmentBytes: Number(segmentBytes),
  report: (error) => say(`fault ${error}`),
  onPut: () => undefined,
  onNote: () => undefined,
})
// A process that is killed does not write its compile cache, so it is written now for the next one.
flushCompileCache()
say('ready')

let key = Number(firstKey)
for (let step = 0; ; step++) {
  if (step === Number(killAfter)) process.kill(process.pid, 'SIGKILL')
  const dice = next()
  if (dice < 0.6) {
    say(`? put ${key}`)
    const place = disk.put(String(key), bodyOf(key))
    say(`! put ${key} ${place ? 'kept' : 'not kept'}`)
    key++
  } else if (dice < 0.85) {
    // One of the last fifty, or everything that was ever put.
    const purged = next() < 0.1 ? 'all' : String(Math.max(0, key - 1 - Math.floor(next() * 50)))
    const note = `${purged} ${key} ${seed}/${step}`
    say(`? note ${note}`)
    say(`! note ${note} ${disk.note(note)}`)
  } else if (dice < 0.9) {
    const writer = disk.openLarge()
    if (!writer) continue
    const own = key++
    say(`? large ${own}`)
    await writer.write(bodyOf(own))
    const place = await writer.finish(String(own))
    say(`! large ${own} ${place ? 'kept' : 'not kept'}`)
  } else {
    await new Promise((resolve) => setTimeout(resolve, next() * 4))
  }
}
