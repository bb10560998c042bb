/**
 * Whether other firewall rules of this machine let the traffic of jobs through. What one table accepts another may still drop,
 * and some programs, Docker the best known, drop everything that they did not set up. It is found by a trial.
 */
import { run } from './commands.ts'
import { strictChains } from './firewall/table.ts'

/** Prints whether DNS and forwarding work. No server listens at `far`: a refused connection is a success, a timeout a failure. */
const CALLS = `
const { connect } = require('node:net')
const { Resolver } = require('node:dns')
const [gateway, far] = process.argv.slice(1)
const found = { dns: false, out: false }
const resolver = new Resolver({ timeout: 1500, tries: 1 })
resolver.setServers([gateway])
resolver.resolve6('headland.invalid', (error) => { found.dns = error?.code === 'ENODATA' })
const socket = connect({ host: far, port: 9, timeout: 2000 })
socket.once('error', ({ code }) => { found.out = code === 'ECONNREFUSED' })
socket.once('timeout', () => socket.destroy())
process.once('exit', () => process.stdout.write(JSON.stringify(found)))
`

type Trial = { enter(command: readonly string[]): string[]; gateway: string; far: string }

/** The problem and what to do about it, for people; undefined if all is well. */
export async function obstacleFor({ enter, gateway, far }: Trial): Promise<string | undefined> {
  const [file = '', ...args] = enter([process.execPath, '-e', CALLS, gateway, far])
  const { dns, out } = JSON.parse(await run(file, args)) as { dns: boolean; out: boolean }
  if (dns && out) return undefined
  const what = [...(dns ? [] : ['names are not resolved']), ...(out ? [] : ['nothing outside is reached'])].join(', ')
  const chains = await strictChains()
  const who = chains.length > 0 ? `: ${chains.join(', ')} drops what it does not know` : ''
  return `other firewall rules of this machine stop builds and apps (${what})${who}. ${ADVICE}`
}

const ADVICE =
  'Let interfaces whose name begins with hl- pass, as in: iptables -I FORWARD -i hl-+ -j ACCEPT; ' +
  'iptables -I FORWARD -o hl-+ -j ACCEPT; iptables -I INPUT -i hl-+ -j ACCEPT. ' +
  "Headland's own rules decide what passes there."
