/** The settings of builds and running apps: what one of them may use and reach on this machine. */
import { availableParallelism, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { count, countOrNone, parseBoolean, parseList, type Setting, seconds, setting } from '../setting-texts.ts'

export type ProgramConfig = {
  buildMemory: number
  appMemory: number
  sleepMemory: number
  sleepTimeout: number
  processes: number
  buildDisk: number
  buildFiles: number
  outputFiles: number
  appDisk: number
  appFiles: number
  jobNetwork: string
  blockedNetworks: string[]
  allowedNetworks: string[]
  weakIsolation: boolean
  bubblewrap: string
  screenshotBrowser: ScreenshotBrowser
}

/** `usual`: one is looked for. */
export type ScreenshotBrowser = 'usual' | 'off' | { path: string }

/** Build tools start threads by the number of processors. */
const PROCESSES = Math.max(512, 64 * availableParallelism())

/** The rest is for apps that are awake. */
const SLEEP_MEMORY = Math.floor(totalmem() / 4)

export const PROGRAM_SETTINGS: { [K in keyof ProgramConfig]: Setting<ProgramConfig[K]> } = {
  buildMemory: setting('2147483648', 'Bytes of memory that a build may use.', count),
  appMemory: setting('1073741824', 'Bytes of memory that a running app may use.', count),
  sleepMemory: setting(
    String(SLEEP_MEMORY),
    'Bytes of memory that apps which sleep may keep together, so that they wake at once: they are frozen, and not stopped. While less than 1 GiB of memory is available, the longest unvisited ones are stopped. 0: all are stopped.',
    countOrNone,
  ),
  sleepTimeout: setting('86400', 'Seconds after which an app that sleeps gives back the memory that it kept.', seconds),
  processes: setting(String(PROCESSES), 'Processes and threads that a build or an app may have.', count),
  buildDisk: setting('10737418240', 'Bytes that a build may write to the disk.', count),
  buildFiles: setting('1000000', 'Files, folders and links that a build may have on the disk.', count),
  outputFiles: setting('200000', 'Files, folders and links that the output of a build may have.', count),
  appDisk: setting('1073741824', 'Bytes that a running app may write to the disk.', count),
  appFiles: setting('200000', 'Files, folders and links that a running app may have on the disk.', count),
  jobNetwork: setting('10.201.0.0/16', 'Range that builds and apps get their own addresses from.', (text) => text),
  blockedNetworks: setting(
    '10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16',
    'Ranges that builds and apps do not reach, separated by commas; they never reach this machine and link-local addresses.',
    parseList,
  ),
  allowedNetworks: setting(
    '',
    'Exceptions, separated by commas: an address or a range, with or without `:port`, such as a CMS on the LAN or on this machine.',
    parseList,
  ),
  weakIsolation: setting(
    'false',
    'Whether several accounts may build although this machine cannot keep them apart (`headland doctor` reports what is missing).',
    parseBoolean,
  ),
  bubblewrap: setting('/usr/bin/bwrap', 'Path of bubblewrap.', (text) => resolve(text)),
  screenshotBrowser: setting(
    '',
    'Path of a Chromium or Chrome that takes pictures of live sites for the portal, in the sandbox; if none is given, one is looked for where it usually is. `off`: no pictures are taken.',
    parseScreenshotBrowser,
  ),
}

function parseScreenshotBrowser(text: string): ScreenshotBrowser {
  if (text === '') return 'usual'
  return text === 'off' ? 'off' : { path: resolve(text) }
}
