/** The control processes that are connected to the agent: one, or none for a while, or two while one takes over. */
import { type Clock, pollUntil } from '../base/index.ts'
import { type Caller, ConnectionLost } from '../channel/index.ts'
import { deploymentOf, type InstanceStatus, type Running, type Supervisor, type Tools } from '../runtime/index.ts'
import type { ControlMethods, Report } from './messages.ts'

type Parts = {
  clock: Clock
  supervisor: Pick<Supervisor, 'all' | 'leaving'>
  instancesOf(deployment: string): Running[]
}

const RECONNECT_POLL_MS = 100

export function createControls({ clock, supervisor, instancesOf }: Parts) {
  const controls = new Set<Caller<ControlMethods>>()
  /** What the next control process has to record, as none did yet. */
  const resets = new Set<string>()
  const visits = new Set<string>()

  const reportOf = (deployment: string): Report => ({
    deployment,
    state: statusOf(instancesOf(deployment)),
    isLeaving: supervisor.leaving().some((key) => deploymentOf(key) === deployment),
  })

  async function recordResets() {
    const [control] = controls
    for (const deployment of control ? [...resets] : []) {
      await control?.call('reset', deployment)
      resets.delete(deployment)
    }
  }

  return {
    add(control: Caller<ControlMethods>) {
      controls.add(control)
      control.closed.then(() => controls.delete(control))
      control.notify(
        'states',
        [...new Set([...supervisor.all(), ...supervisor.leaving()].map(deploymentOf))].map(reportOf),
      )
      control.notify('visited', [...visits])
      visits.clear()
      recordResets().catch(() => undefined)
    },

    changed(deployment: string) {
      for (const control of controls) control.notify('states', [reportOf(deployment)])
    },

    visited(deployments: readonly string[]) {
      if (controls.size === 0) for (const deployment of deployments) visits.add(deployment)
      for (const control of controls) control.notify('visited', deployments)
    },

    /** Recorded by the next control process where this one is lost. */
    async reset(deployment: string) {
      resets.add(deployment)
      await recordResets().catch((error) => {
        if (!(error instanceof ConnectionLost)) throw error
      })
    },

    /** Waits for a control process. */
    async toolsOf(deployment: string, timeoutMs: number): Promise<Tools> {
      await pollUntil(clock, () => controls.size > 0, { pauseMs: RECONNECT_POLL_MS, timeoutMs })
      const control = [...controls].at(-1)
      if (!control) throw new Error('the tools of the app are missing, and no control process is there to fetch them')
      return control.call('toolsOf', deployment)
    },
  }
}

function statusOf([first, ...others]: Running[]): InstanceStatus | null {
  if (!first) return null
  const all = [first, ...others]
  const running = all.flatMap(({ instance }) => instance ?? [])
  const [one] = running
  return {
    state: one ? 'RUNNING' : first.state,
    restarts: all.reduce((sum, { restarts }) => sum + restarts, 0),
    running: running.length,
    instance: one && { id: one.id, host: one.host, port: one.port },
  }
}
