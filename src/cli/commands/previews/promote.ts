/** Makes what is live in one environment live in another one of the same app. */
import { ENVIRONMENT, type Promotion } from '../../../client/index.ts'
import { EXIT, requiredOption } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { followBuild } from '../../follow-build.ts'
import { listenForInterrupts } from '../../interrupts.ts'
import { finishInSight } from '../../operation.ts'
import { makeSure } from '../../options.ts'
import { reportOfBuild } from '../../output/reports.ts'
import { oneLine } from '../../output/rows.ts'
import { environmentIn } from '../../project/resource-names.ts'
import { atApp } from '../../project/where.ts'
import { environmentsOf, oneOf } from './previews.ts'

export async function promote(call: ClientCall): Promise<number> {
  const { terminal, options, positionals } = call
  const to = requiredOption(options, 'to')
  const at = await atApp(call)
  const all = await environmentsOf(at)
  const [from, target] = [oneOf(all, positionals[0] ?? '', 'environment'), oneOf(all, to, 'environment')]
  const [source, goal] = [oneLine(from.displayName), oneLine(target.displayName)]
  await makeSure(call, `This makes what is live in ${source} live in ${goal}.`, 'promote')
  const body = { target: target.name, ...(options['no-build'] ? { build: false } : {}) }
  const asked = { path: environmentIn(from.name), body }
  const promotion = await at.service.client.call(`POST ${ENVIRONMENT}:promote`, asked)
  if (promotion.built) return build(call, at.service, promotion)
  const environment = await finishInSight({ ...at, terminal }, promotion.operation)
  if (options.json) terminal.print(JSON.stringify({ event: 'done', ...facts(promotion), url: environment.url }))
  else {
    terminal.say(`The output of ${source} is live in ${goal}. Nothing was built.`)
    terminal.print(oneLine(environment.url))
  }
  return EXIT.done
}

async function build(call: ClientCall, service: Parameters<typeof followBuild>[0]['service'], promotion: Promotion) {
  const { terminal, options } = call
  const names = promotion.differing.map(oneLine).join(', ')
  if (options.json) terminal.print(JSON.stringify({ event: 'promotion', ...facts(promotion) }))
  else terminal.say(`It is built there, since a build of the target sees other values of: ${names}.`)
  const report = reportOfBuild(call)
  const interrupts = listenForInterrupts()
  try {
    const { operation } = promotion
    report.accepted(operation)
    return await followBuild({ service, operation, report, terminal, interrupts, cancelsWhenLeft: false })
  } finally {
    interrupts.close()
    terminal.status(undefined)
  }
}

const facts = ({ operation, built, differing }: Promotion) => ({
  operation: operation.name,
  build: operation.metadata.build,
  built,
  differing,
})
