/** Deployments: lists those of an environment, shows one with the check of its pages, and makes an earlier or later one live without a build. */
import { type Deployment, ENVIRONMENT } from '../../client/index.ts'
import { shortId, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { finishInSight } from '../operation.ts'
import { limitOf } from '../options.ts'
import { checkFacts, checkRows } from '../output/check-report.ts'
import { digestFor, idFor, peopleColumns, requesterInWords, triggerInWords } from '../output/people.ts'
import { noteOnActivation } from '../output/pin.ts'
import { factsOf, oneLine, printList, printResult, tableFor, when } from '../output/rows.ts'
import { tailIn, wholeId } from '../project/ids.ts'
import { type AtEnvironment, atEnvironment, lastPart } from '../project/where.ts'

/** The service keeps far fewer of an environment, so an older one cannot be made live. */
const MAX_SEEN = 1000

export async function listDeployments(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const at = await atEnvironment(call)
  const { items, hasMore } = await newest(at, limit)
  printList(call, items, {
    row: (one) => ({
      deployment: idFor(call.terminal, one.name),
      state: stateInWords(one),
      trigger: triggerInWords(one),
      by: requesterInWords(one.requestedBy),
      live: when(call.terminal, one.liveTime),
      activatable: one.activatable ? 'yes' : 'no',
      build: idFor(call.terminal, one.build),
      archive: digestFor(call.terminal, one.archive),
      ...peopleColumns(one),
    }),
    empty: "No deployments yet. 'headland deploy' makes the first.",
    narrow: {
      shortened: ['message', 'commit', 'author', 'by'],
      leftOut: ['archive', 'build', 'activatable', 'author', 'commit', 'message', 'by'],
    },
  })
  if (hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}

/** The live one unless another is named. */
export async function showDeployment(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const given = call.positionals[0]
  const tail = given === undefined ? undefined : tailIn(given, 'deployment')
  const at = await atEnvironment(call)
  const live = at.environment.deployment
  if (tail === undefined && !live) throw new UsageError("nothing is live: 'headland deployments' lists what there is")
  const id = tail === undefined ? lastPart({ name: live }) : await wholeId(at, 'deployments', tail)
  const one = await at.service.client.call(`GET ${ENVIRONMENT}/deployments/{deployment}`, {
    path: { ...at.names, deployment: id },
  })
  if (options.json) return void terminal.print(JSON.stringify(one))
  terminal.print(factsOf({ ...facts(call, one), ...(one.check ? checkFacts(one.check) : {}) }))
  const rows = one.check ? checkRows(one.check) : []
  if (rows.length > 0) terminal.print(`\n${tableFor(terminal, rows, { shortened: ['why', 'page'], leftOut: ['why'] })}`)
}

const facts = ({ terminal }: ClientCall, one: Deployment) => ({
  deployment: lastPart(one),
  state: stateInWords(one),
  trigger: triggerInWords(one),
  by: requesterInWords(one.requestedBy),
  build: lastPart({ name: one.build }),
  message: oneLine(one.message),
  made: when(terminal, one.createTime),
  live: when(terminal, one.liveTime),
  activatable: one.activatable ? 'yes' : 'no',
})

export async function activateDeployment(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const given = call.positionals[0] ?? ''
  const tail = given === 'previous' ? undefined : tailIn(given, 'deployment')
  const at = await atEnvironment(call)
  const chosen = tail === undefined ? lastPart(await previousDeployment(at)) : await wholeId(at, 'deployments', tail)
  const asked = await at.service.client.call(`POST ${ENVIRONMENT}/deployments/{deployment}:activate`, {
    path: { ...at.names, deployment: chosen },
  })
  const environment = await finishInSight({ ...at, terminal }, asked)
  printResult(call, environment, `The deployment ${shortId(chosen)} is live at`)
  if (options.json) return
  terminal.print(oneLine(environment.url))
  const note = noteOnActivation(environment)
  if (note) terminal.say(note)
}

/**
 * The newest of those that were live and are older than the current one. So the command, run again, goes further back; the one
 * that was live before would lead from one bad version back to the other.
 */
export async function previousDeployment(at: AtEnvironment): Promise<Deployment> {
  const live = at.environment.deployment
  if (!live) throw new UsageError('nothing is live, so there is nothing before it')
  const { items } = await newest(at, MAX_SEEN)
  const older = items.slice(items.findIndex(({ name }) => name === live) + 1)
  const found = older.find(({ activatable, liveTime }) => activatable && liveTime !== undefined)
  if (!found) throw new UsageError(`no deployment before ${shortId(live)} can be made live any more`)
  return found
}

const newest = ({ service, names: path }: AtEnvironment, limit: number) =>
  service.client.first(`GET ${ENVIRONMENT}/deployments`, { path, limit })

function stateInWords({ state, instance }: Deployment): string {
  if (!instance) return state
  return `${state}, ${instance.running > 1 ? `${instance.running} instances ` : ''}${instance.state}`
}
