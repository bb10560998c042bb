/** Prints the image of what is live: for `docker run`, and for every other tool that takes one. */
import { ENVIRONMENT } from '../../client/index.ts'
import { UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { oneLine } from '../output/rows.ts'
import { buildIn, namesIn } from '../project/resource-names.ts'
import { atEnvironment } from '../project/where.ts'

export async function printImage(call: ClientCall): Promise<undefined> {
  const { terminal, options, positionals } = call
  const [named] = positionals
  const { service, environment } = await atEnvironment(
    named === undefined ? call : { ...call, options: { ...options, env: named } },
  )
  if (!environment.deployment) throw new UsageError(`nothing is live in ${environment.displayName} yet`)
  const { client } = service
  const live = namesIn(environment.deployment, 'account', 'app', 'environment', 'deployment')
  const { build } = await client.call(`GET ${ENVIRONMENT}/deployments/{deployment}`, { path: live })
  const { image } = await client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path: buildIn(build) })
  if (image === undefined)
    throw new UsageError(
      `there is no image of what is live in ${environment.displayName}: the operator sets a registry, and the next deploy stores it there`,
    )
  terminal.print(options.json ? JSON.stringify({ image }) : oneLine(image))
}
