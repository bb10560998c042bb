/** Runs one of the processes of the service. Each imports what it needs and nothing of the others. */
import { parseArgs } from 'node:util'
import { loadConfig, settingFlags } from '../config.ts'
import type { Role } from '../settings.ts'
import { live } from './child.ts'

export async function runRole([role = '', ...args]: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: settingFlags() })
  const { config } = loadConfig({ flags: values as Record<string, string | undefined> })
  await live(async () => {
    switch (role as Role | 'files') {
      case 'agent':
        return (await import('./agent.ts')).runAgentProcess(config)
      case 'edge':
        return (await import('./edge.ts')).runEdgeProcess(config)
      case 'node':
        return (await import('./node.ts')).runNodeProcess(config)
      case 'files':
        return (await import('./files.ts')).runFilesProcess(config)
      case 'control':
        return (await import('./control.ts')).runControlProcess(config)
      case 'worker':
        return (await import('./worker.ts')).runWorkerProcess(config)
    }
  })
}
