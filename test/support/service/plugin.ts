/** The WordPress plugin, calling a small server of the test in place of Headland. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Handle, startHook } from '../edge/hook.ts'
import { until } from '../until.ts'
import type { LastCall, PluginSettings, WordPress } from './wordpress.ts'

export function pluginIn(wordpress: WordPress) {
  /** Resolves when no call waits and no worker is active. */
  const quiet = () =>
    until(async () => {
      const state = await wordpress.state()
      return state.worker === '' && (state.resting || Object.keys(state.counts).length === 0)
    }, 'the plugin is quiet')

  return {
    quiet,

    /** Resets the plugin, which then calls a hook of this test. */
    async start(t: TestContext, { handle, ...settings }: PluginSettings & { handle?: Handle } = {}) {
      const hook = await startHook(t, handle)
      await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: `127.0.0.1:${hook.port}` })
      await wordpress.setOptions({ url: hook.url, ...settings })
      t.after(quiet)
      return hook
    },

    lastCall: async (): Promise<LastCall> => (await wordpress.lastCall()) || assert.fail('there was no call'),
  }
}
