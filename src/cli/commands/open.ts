/** Opens a site in the user's browser, and prints its address. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ClientCall } from '../command.ts'
import { findSite } from '../connection/site.ts'

export async function open(call: ClientCall): Promise<undefined> {
  const { terminal, options, positionals, environment } = call
  const { href } = (await findSite(call, positionals[0])).url
  if (options.json) return terminal.print(JSON.stringify({ url: href })) as undefined
  terminal.print(href)
  if (options.print || environment.isCi) return
  if (!environment.hasScreen || !(await isOpened(href)))
    terminal.say('There is no browser that can be opened from here: open the address above yourself.')
}

/** The address is added as the last argument. It begins with http, so no program takes it for an option. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly (readonly [string, ...string[]])[]>> = {
  darwin: [['open']],
  win32: [['rundll32', 'url.dll,FileProtocolHandler']],
}
const OTHERS = [['xdg-open'], ['wslview'], ['sensible-browser']] as const

async function isOpened(url: string): Promise<boolean> {
  for (const [program, ...args] of OPENERS[process.platform] ?? OTHERS) {
    // A browser may run for a long time, so the command does not wait for it.
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    try {
      await once(child, 'spawn')
      child.unref()
      return true
    } catch {
      // It is not installed: the next one may be.
    }
  }
  return false
}
