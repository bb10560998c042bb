/** The browser of this machine that takes pictures, and what of the machine it needs in its sandbox. */
import { existsSync } from 'node:fs'
import { access, constants, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { absent } from '../base/index.ts'
import type { Mount } from '../engines/index.ts'

/** The first of them that is there: one without windows needs the least. */
const USUAL = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/usr/bin/chromium-browser',
]

export type Browser = { path: string; mounts: readonly Mount[] }

/** `given` is a path; where none is given, one is looked for. Undefined if there is none that can be run. */
export async function findBrowser(given: string | undefined): Promise<Browser | undefined> {
  for (const path of given === undefined ? USUAL : [given]) {
    const found = await realpath(path).catch(absent)
    if (found === undefined || !(await isProgram(found))) continue
    // What is not of the system is not in a sandbox: a browser in /opt brings its folder.
    const folder = dirname(found)
    const isSystem = /^\/(?:usr|bin|lib)(?:\/|$)/.test(found)
    const mounts = [
      ...(isSystem ? [] : [{ from: folder, to: folder, isWritable: false }]),
      ...(existsSync(FONTS) ? [{ from: FONTS, to: FONTS, isWritable: false }] : []),
    ]
    return { path: found, mounts }
  }
  return undefined
}

const FONTS = '/etc/fonts'

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
