/** Scripts of the app that run with every install. They may read and write any file, so they must see all files. */

export const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
] as const

/** Git hooks, which an archive does not need, and guards that only check which manager installs. */
const IDLE = [
  /^(?:husky|husky install(?: \S+)?|lefthook install(?: -f)?|simple-git-hooks|is-ci)$/,
  /^only-allow (?:npm|pnpm|yarn|bun)$/,
  /^(?:true|exit 0|:|)$/,
]

const MAX_LENGTH = 200

/** Whether a script does more than these. */
export function doesSomething(script: string): boolean {
  if (script.length > MAX_LENGTH) return true
  const commands = script.split(/&&|\|\||;/).map((command) => command.trim().replace(/^npx (?:-y |--yes )?/, ''))
  return !commands.every((command) => IDLE.some((pattern) => pattern.test(command)))
}
