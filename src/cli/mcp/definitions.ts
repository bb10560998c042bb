import { type ClientCommand, SERVICE_OPTIONS } from '../command.ts'

/** The service, and nothing else: stdout belongs to the protocol. */
const { json: _, ...URL_OPTION } = SERVICE_OPTIONS

export const MCP_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'mcp',
    positionals: [],
    summary: 'Let coding agents use the service, by the Model Context Protocol over stdin and stdout',
    options: {
      'read-only': { type: 'boolean', describe: 'Offer only tools that read.' },
      folder: {
        type: 'string',
        multiple: true,
        describe:
          'What may be deployed: this folder and those below it; the current one unless given. May be repeated.',
      },
      ...URL_OPTION,
    },
    run: async (call) => (await import('./mcp.ts')).mcp(call),
  },
]
