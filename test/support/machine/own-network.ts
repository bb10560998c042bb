/**
 * Runs a command in a network of its own, with a loopback and nothing else: what a test binds there is seen by its own programs
 * only. `node test/support/machine/own-network.ts COMMAND…`, as root.
 */
import { spawn } from 'node:child_process'

/** Tells a test that it is in one, with the process outside of it. */
export const OWN_NETWORK = 'TEST_OWN_NETWORK'

/** The option of a test that needs it. */
export const NEEDS_OWN_NETWORK = {
  skip: process.env[OWN_NETWORK] ? false : 'npm run test:swarm runs it in a network of its own',
}

if (import.meta.main) {
  const script = 'ip link set lo up && exec "$@"'
  const child = spawn('unshare', ['--net', 'sh', '-euc', script, 'sh', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [OWN_NETWORK]: String(process.pid) },
  })
  child.on('exit', (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
  })
}
