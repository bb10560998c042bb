/** Builds that go on until the test lets them: each waits for a file in its own /tmp, which is reached through /proc. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Files } from './deploy.ts'

/** As the build sees it: each has a /tmp of its own. */
const FILE = '/tmp/go-on'

/** The mark is an argument of the build's process, by which it is found. */
export const heldBuild = (mark: string, text: string): Files => ({
  'package.json': JSON.stringify({ name: 'held', scripts: { build: `node build.js ${mark}` } }),
  'build.js': `
    const fs = require('node:fs')
    const look = setInterval(() => {
      if (!fs.existsSync('${FILE}')) return
      clearInterval(look)
      fs.mkdirSync('dist', { recursive: true })
      fs.writeFileSync('dist/index.html', ${JSON.stringify(text)} + ' ' + process.hrtime.bigint())
    }, 10)
  `,
})

const released = new Set<string>()

/** Resolves when a build with this mark waits that was not released yet. */
export async function untilHeld(mark: string): Promise<{ goOn(): Promise<void> }> {
  for (let tries = 0; tries < 3000; tries++) {
    const pid = (await pidsOf(mark)).find((found) => !released.has(found))
    if (pid) {
      return {
        async goOn() {
          released.add(pid)
          await writeFile(join('/proc', pid, 'root', FILE), '')
        },
      }
    }
    await wait(10)
  }
  throw new Error(`no build with the mark ${mark} began`)
}

async function pidsOf(mark: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  // The build itself, and not what started it: that is outside of the sandbox, or is a shell with another command line.
  return pids.filter((_, index) => commands[index]?.split('\0').slice(1).join(' ').trim() === `build.js ${mark}`)
}
