/** A stop that comes while new processes take over: they end, too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { childrenOf, runningProcesses } from '../../support/machine/process-tree.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

/** How many processes of the role there are, old and new. */
const countOf = ({ pid }: TestService, role: string): number =>
  childrenOf(pid).filter(({ command }) => command[command.indexOf('role') + 1] === role).length

for (const role of ['agent', 'control', 'edge'])
  test(`a service that is stopped when its new ${role} process starts ends with all processes`, async (t) => {
    const service = await startService(t)
    process.kill(service.pid, 'SIGHUP')
    await until(() => countOf(service, role) > 1, 'the new process is there')
    const pids = childrenOf(service.pid).map(({ pid }) => pid)
    assert.equal(await service.stop(), 0)
    assert.deepEqual(
      runningProcesses().filter(({ pid }) => pids.includes(pid)),
      [],
    )
  })
