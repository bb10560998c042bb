/** A command of the operator: it works on the data folder, whether or not the service runs. */
import type { Accounts, Credentials, Users } from '../accounts/index.ts'
import type { CmsInstalls } from '../apps/index.ts'
import type { CommandForm, OptionValues } from '../contract/index.ts'

/** The parts of the house that commands use, opened on the data folder. */
export type Ground = { accounts: Accounts; users: Users; credentials: Credentials; cmsInstalls: CmsInstalls }

export type CommandCall = {
  positionals: string[]
  options: OptionValues
  /** Opened when first asked for, closed when the command is over. */
  ground(): Promise<Ground>
  print(text: string): void
}

export type Command = CommandForm & {
  /** 0 unless it says otherwise. */
  run(call: CommandCall): Promise<number | undefined>
}
