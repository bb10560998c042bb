/** What every tool is made of: its form, the environment that it is about, and the consent to what changes something. */
import { schema } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { oneLine } from '../output/rows.ts'
import { type AtEnvironment, atEnvironment } from '../project/where.ts'
import type { HostedTool, RunningTool, ToolResult } from './protocol/tool-calls.ts'
import { problem } from './results.ts'

export type Context = RunningTool & {
  /** As of a command that is typed in the folder where the server was started. */
  call: ClientCall
  /** Folders whose content may be deployed, with what is below them. */
  folders: readonly string[]
}

/** Every change is of what visitors see; what is created, they do not see yet. */
type Kind = 'reads' | 'creates' | 'changes'

export type Tool = {
  name: string
  title: string
  description: string
  kind: Kind
  input: schema.ObjectSchema
  run(context: Context, given: Given): Promise<ToolResult>
}

/** Checked against the schema of the tool before. */
// biome-ignore lint/suspicious/noExplicitAny: the schema of the tool says what each of them is
export type Given = Readonly<Record<string, any>>

const text = (description: string, maxLength = 200) => schema.optional(schema.string({ description, maxLength }))
const number = (description: string, maximum: number) =>
  schema.optional(schema.integer({ description, minimum: 1, maximum }))

export const AT_ACCOUNT = { account: text('The project file says it, unless given.') }
export const AT_APP = {
  ...AT_ACCOUNT,
  app: text('As with account.'),
}
export const AT_ENVIRONMENT = {
  ...AT_APP,
  environment: text('By its name or its id; as with account.'),
}
export const CONFIRM = {
  confirm: text(
    'The name of what is changed, `account/app/environment`. Give it only after the user has agreed to this very change; without it the tool says what it would do.',
  ),
}
export const WAIT = {
  waitSeconds: schema.optional(
    schema.integer({ description: 'How long to wait for the end; 45 unless given.', minimum: 0, maximum: 600 }),
  ),
}
export const option = { text, number }

/** As the protocol shows and calls it. */
export const hosted = (tool: Tool, base: Pick<Context, 'call' | 'folders'>): HostedTool => ({
  form: {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input,
    annotations: {
      title: tool.title,
      readOnlyHint: tool.kind === 'reads',
      ...(tool.kind === 'reads' ? {} : { destructiveHint: tool.kind === 'changes', idempotentHint: false }),
      openWorldHint: false,
    },
  },
  run: (given, running) => tool.run({ ...base, ...running }, given),
})

export type At = AtEnvironment & { title: string }

/** Runs the work at the environment that the arguments name, and closes the connections to its service. */
export async function atEnvironmentOf(
  { call }: Pick<Context, 'call'>,
  given: Given,
  work: (at: At) => Promise<ToolResult>,
): Promise<ToolResult> {
  const at = await atEnvironment(callWith(call, given))
  try {
    const { names } = at
    return await work({ ...at, title: `${names.account}/${names.app}/${oneLine(at.environment.displayName)}` })
  } finally {
    at.service.connection.agent.destroy()
  }
}

/** The call of a command with these arguments as its options. */
export const callWith = (call: ClientCall, { account, app, environment }: Given): ClientCall => ({
  ...call,
  options: { url: call.options.url, account, app, env: environment },
})

/** Undefined where it may be done. What visitors see is changed only with a name that is repeated, and a user who agrees. */
export async function consent(
  context: Context,
  { confirm }: Given,
  { title, effect }: { title: string; effect: string },
): Promise<ToolResult | undefined> {
  if (confirm !== title) {
    return problem({
      reason: 'CONFIRMATION_MISSING',
      message: `${effect} Nothing was done.`,
      todo: `Tell the user what will happen. When they agree, call again with confirm: ${JSON.stringify(title)}.`,
    })
  }
  if ((await context.ask({ message: effect, about: title })) !== false) return undefined
  return problem({
    reason: 'DECLINED',
    message: 'The user declined. Nothing was done.',
    todo: 'Do not try again unasked.',
  })
}
