/** Builds the newest upload again, or the archive that the environment is pinned to. */
import { ENVIRONMENT } from '../../client/index.ts'
import { EXIT } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { followBuild } from '../follow-build.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { noteOnRebuild } from '../output/pin.ts'
import { reportOfBuild } from '../output/reports.ts'
import { atEnvironment } from '../project/where.ts'

export async function rebuild(call: ClientCall): Promise<number> {
  const { terminal, options } = call
  const { service, names, environment } = await atEnvironment(call)
  const body = { clean: options.clean === true, ...(options.force === true ? { force: true } : {}) }
  const operation = await service.client.call(`POST ${ENVIRONMENT}:rebuild`, { path: names, body })
  const report = reportOfBuild(call)
  const note = noteOnRebuild(environment)
  if (note) report.note(note)
  report.accepted(operation)
  if (options.detach) {
    report.detached(operation)
    return EXIT.done
  }
  const interrupts = listenForInterrupts()
  try {
    const cancelsWhenLeft = options['cancel-on-interrupt'] === true
    return await followBuild({ service, operation, report, terminal, interrupts, cancelsWhenLeft })
  } finally {
    interrupts.close()
  }
}
