/** The apps of the agent, as the control process sees and steers them. */
import { createTurns } from '../../base/index.ts'
import type { InstanceRecord, InstanceRequest, InstanceStatus, Instances } from '../../runtime/index.ts'
import type { ControlMethods } from '../messages.ts'
import type { AgentConnection } from './connection.ts'
import type { Outputs } from './engine.ts'

/** How many apps are described in one message. */
const ADOPTED_AT_ONCE = 100

type Parts = { call: AgentConnection['call']; outputs: Outputs }

type Methods = Pick<ControlMethods, 'states' | 'reset' | 'toolsOf'>

export function createInstancesClient({ call, outputs }: Parts) {
  /** What this process has asked the agent for, by deployment and by environment. */
  const requests = new Map<string, InstanceRequest>()
  const deploymentsOf = new Map<string, Set<string>>()
  /** What the agent has reported. */
  const states = new Map<string, InstanceStatus>()
  const leaving = new Set<string>()
  const inTurn = createTurns()

  async function recordOf(request: InstanceRequest): Promise<InstanceRecord> {
    const { openToolchain, onState, expiries, onReset, ...data } = request
    const text = await expiries?.()
    return { ...data, ...(text === undefined ? {} : { expiries: text }) }
  }

  function remember(request: InstanceRequest) {
    const { deployment, owner } = request
    requests.set(deployment, request)
    const siblings = deploymentsOf.get(owner.environment) ?? new Set()
    deploymentsOf.set(owner.environment, siblings.add(deployment))
  }

  function forget({ deployment, owner }: InstanceRequest) {
    requests.delete(deployment)
    const siblings = deploymentsOf.get(owner.environment)
    siblings?.delete(deployment)
    if (siblings?.size === 0) deploymentsOf.delete(owner.environment)
  }

  const instances: Instances = {
    async start(spec, { signal, onOutput }) {
      const { deployment } = spec
      const tools = await spec.openToolchain()
      const app = { ...(await recordOf(spec)), tools }
      remember(spec)
      const output = onOutput ? outputs.add(onOutput) : null
      try {
        await call('startApp', { app, output }, signal)
      } catch (error) {
        if (!states.has(deployment)) forget(spec)
        throw error
      } finally {
        if (output !== null) outputs.remove(output)
      }
    },

    carry: async ({ runFolder }, spec, signal) =>
      call('carryApp', { from: runFolder, app: await recordOf(spec) }, signal),

    async adopt(given) {
      for (const spec of given) remember(spec)
      const added: string[] = []
      for (let at = 0; at < given.length; at += ADOPTED_AT_ONCE) {
        const some = await Promise.all(given.slice(at, at + ADOPTED_AT_ONCE).map(recordOf))
        added.push(...(await call('adoptApps', some)))
      }
      await call(
        'keepApps',
        given.map(({ deployment }) => deployment),
      )
      return added
    },

    warmUp: (deployment) => call('warmUpApp', deployment),
    setScaling: (deployment, scaling) => call('setScaling', { deployment, scaling }),

    /** Read and sent in turn, so that the newest is always the last one sent. */
    async refreshExpiries(environment) {
      await inTurn(environment, async () => {
        const ours = [...(deploymentsOf.get(environment) ?? [])]
        const read = ours.map(async (deployment) => [deployment, await requests.get(deployment)?.expiries?.()])
        const texts = Object.fromEntries((await Promise.all(read)).filter(([, text]) => text !== undefined))
        if (Object.keys(texts).length > 0) await call('setExpiries', { environment, texts })
      })
    },

    async retire(deployment, { isDrained = false } = {}) {
      const request = requests.get(deployment)
      await call('retireApp', { deployment, isDrained })
      // Meanwhile it may have been started again, with a request of its own.
      if (request && request === requests.get(deployment) && !states.has(deployment)) forget(request)
    },

    say: (log, phase, text) => call('sayInLog', { log, phase, text }),
    of: (deployment) => states.get(deployment),
    holds: (deployment) => requests.has(deployment) || states.has(deployment) || leaving.has(deployment),
    awake: async (account) => ({ environments: {}, ...(await call('awakeApps', account)) }),
  }

  const methods: Methods = {
    states(reports) {
      for (const { deployment, state, isLeaving } of reports) {
        if (state) states.set(deployment, state)
        else states.delete(deployment)
        if (isLeaving) leaving.add(deployment)
        else leaving.delete(deployment)
        requests.get(deployment)?.onState?.()
      }
    },
    async reset(deployment) {
      const spec = requests.get(deployment)
      await spec?.onReset?.()
      if (spec) await instances.refreshExpiries(spec.owner.environment)
    },
    async toolsOf(deployment) {
      const spec = requests.get(deployment)
      if (!spec) throw new Error('the deployment is not live')
      return spec.openToolchain()
    },
  }

  return {
    instances,
    methods,
    /** The agent is gone, and everything that ran with it. */
    onLost() {
      states.clear()
      leaving.clear()
    },
  }
}
