/** Prints the image of what is live: for `docker run`, and for every other tool that takes one. */
import { type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { oneLine } from '../output/rows.ts'
import { api, resource } from '../project/path.ts'
import { atEnvironment } from '../project/where.ts'

export async function printImage(call: ClientCall): Promise<undefined> {
  const { terminal, options, positionals } = call
  const [named] = positionals
  const { service, environment } = await atEnvironment(
    named === undefined ? call : { ...call, options: { ...options, env: named } },
  )
  if (!environment.deployment) throw new UsageError(`nothing is live in ${environment.displayName} yet`)
  const deployment = await service.call<resources.Deployment>(api`/v1/${resource(environment.deployment)}`)
  const { image } = await service.call<resources.Build>(api`/v1/${resource(deployment.build)}`)
  if (image === undefined)
    throw new UsageError(
      `there is no image of what is live in ${environment.displayName}: the operator sets a registry, and the next deploy stores it there`,
    )
  terminal.print(options.json ? JSON.stringify({ image }) : oneLine(image))
}
