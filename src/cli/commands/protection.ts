/** Who may see an environment: a password, addresses, or both. */
import { type ChangedProtection, ENVIRONMENT, type Environment } from '../../client/index.ts'
import { LIMITS, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { finishInSight } from '../operation.ts'
import { factsOf, oneLine, printResult } from '../output/rows.ts'
import { visibilityInWords } from '../output/visibility.ts'
import { atEnvironment } from '../project/where.ts'
import { secretFromStdin } from './variables/variable-pairs.ts'

export async function showProtection(call: ClientCall): Promise<undefined> {
  const { environment } = await atEnvironment(call)
  const { production, protection } = environment as Partial<Environment>
  if (!protection) throw new UsageError('the service is of an earlier version, which shows every site to everyone')
  if (call.options.json) return void call.terminal.print(JSON.stringify({ production, protection }))
  call.terminal.print(
    factsOf({
      environment: environment.displayName,
      production: production ? 'yes' : 'no',
      password: protection.hasPassword ? 'asked for' : 'none',
      addresses: protection.addresses.join(', ') || 'all',
    }),
  )
}

export async function setPassword(call: ClientCall): Promise<undefined> {
  const password = call.options.end ? null : await readPassword(call)
  await change(call, { password })
}

export async function setAddresses(call: ClientCall): Promise<undefined> {
  const { positionals, options } = call
  if ((options.end === true) === positionals.length > 0)
    throw new UsageError('usage: headland protection addresses ADDRESS…, or headland protection addresses --end')
  await change(call, { addresses: positionals })
}

async function change(call: ClientCall, protection: ChangedProtection): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  const asked = await service.client.call(`PATCH ${ENVIRONMENT}`, { path, body: { protection } })
  const changed = await finishInSight({ ...call, service }, asked)
  printResult(call, changed, `${oneLine(changed.displayName)} can be seen by: ${visibilityInWords(changed)}.`)
}

/** It must not be seen in the list of processes or in the history of a shell. */
async function readPassword({ terminal }: ClientCall): Promise<string> {
  const password = terminal.isInteractive
    ? await terminal.ask('Password for visitors: ', { isHidden: true })
    : await secretFromStdin()
  if (password === undefined) throw new UsageError('no password was given: send it at stdin, or run this at a terminal')
  const { minProtectionPasswordLength: min, maxProtectionPasswordLength: max } = LIMITS
  const { length } = [...password]
  if (length < min || length > max) throw new UsageError(`the password must have ${min} to ${max} characters`)
  return password
}
