/**
 * Variables that every login shell sets, and that programs rely on. Yarn's own shell fails at a script that reads an unset
 * `PWD`, and other tools read the terminal, the user or the language in the same way.
 */

/** A job's own values replace these. `dumb` is a terminal without colours and without cursor movement. */
const DEFAULTS = { USER: 'app', LOGNAME: 'app', SHELL: '/bin/sh', TERM: 'dumb', LANG: 'C.UTF-8' } as const

/** `PWD` and `SHLVL` describe the started program itself, so a job's values do not replace them. */
export function loginEnvironment(
  { OLDPWD: _, ...environment }: Readonly<Record<string, string>>,
  cwd: string,
): Record<string, string> {
  return { ...DEFAULTS, ...environment, PWD: cwd, SHLVL: '1' }
}
