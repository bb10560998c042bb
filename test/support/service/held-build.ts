/**
 * Builds that continue when the test lets them: each waits for a signal, which a program that does not listen yet
 * ignores.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { unlessGone } from '../../../src/base/index.ts'
import { until } from '../until.ts'

const SIGNAL = 'SIGCONT'

/** The mark is an argument of the build's process, by which the test finds it. */
export const heldBuild = (mark: string, text: string): Record<string, string> => ({
  'package.json': JSON.stringify({ name: 'held', scripts: { build: `node build.js ${ofThisRun(mark)}` } }),
  'build.js': `
    const fs = require('node:fs')
    const held = setInterval(() => {}, 1000)
    process.once('${SIGNAL}', () => {
      clearInterval(held)
      fs.mkdirSync('dist', { recursive: true })
      fs.writeFileSync('dist/index.html', ${JSON.stringify(text)} + ' ' + process.hrtime.bigint())
    })
  `,
})

/** Another test run on this machine may have builds with the same marks. */
const ofThisRun = (mark: string) => `${mark}-${process.pid}`

const released = new Set<string>()

/** Resolves when a build with this mark waits that was not released yet. */
export async function untilHeld(mark: string): Promise<{ goOn(): Promise<void> }> {
  const isHeld = (pid: string) => !released.has(pid)
  const pid = await until(() => pidsOf(mark).find(isHeld), `a build with the mark ${mark} began`)
  return {
    async goOn() {
      released.add(pid)
      await until(() => !isSignalled(Number(pid)), `the build with the mark ${mark} goes on`)
    },
  }
}

/** False if the process no longer exists. */
function isSignalled(pid: number): boolean {
  try {
    return process.kill(pid, SIGNAL)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Reads without promises, which would take most of the CPU time of a test that waits like this. */
function pidsOf(mark: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const commandOf = (pid: string) => unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
  // The build itself, and not what started it: that is outside of the sandbox, or is a shell with another command line.
  return pids.filter((pid) => commandOf(pid).split('\0').slice(1).join(' ').trim() === `build.js ${ofThisRun(mark)}`)
}
