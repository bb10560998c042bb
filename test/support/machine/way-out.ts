/**
 * Access to the internet for a test that runs in a network of its own: builds install packages from the registry that npm is
 * configured with. Other machines of the test have none, and nothing reaches the machine on which the test runs.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Scope } from '../folder.ts'
import { connect } from './docker-engine.ts'
import { OWN_NETWORK } from './own-network.ts'

const run = promisify(execFile)
const TABLE = 'test_way_out'

/** The option of a test that needs it. */
export const NEEDS_WAY_OUT = {
  skip: /^nameserver (?!127\.|::1)/m.test(readFileSync('/etc/resolv.conf', 'utf8'))
    ? false
    : 'names are resolved by a program on the loopback, which is not reached from a network of its own',
}

/** The scope has to end things in reverse. */
export async function openWayOut(t: Scope) {
  const outside = ['nsenter', `--net=/proc/${process.env[OWN_NETWORK]}/ns/net`]
  const [file = '', ...args] = [...outside, 'ip', '-json', '-4', 'address']
  const links: { addr_info: { local: string }[] }[] = JSON.parse((await run(file, args)).stdout)
  const addresses = links.flatMap(({ addr_info: all }) => all.map(({ local }) => local))
  await run('nft', [rulesFor(addresses)])
  t.after(() => run('nft', ['delete', 'table', 'ip', TABLE]))
  await connect(t, process.pid, outside)
}

/** Forwarded packets of builds come in by links of their sandboxes, those of other machines by `eth0`. */
const rulesFor = (addresses: readonly string[]): string => `
  table ip ${TABLE} {
    chain forward {
      type filter hook forward priority filter
      iifname "eth0" oifname "tap0" drop
      oifname "tap0" ip daddr { ${addresses.join(', ')} } drop
    }
    chain output {
      type filter hook output priority filter
      oifname "tap0" ip daddr { ${addresses.join(', ')} } drop
    }
  }
`
