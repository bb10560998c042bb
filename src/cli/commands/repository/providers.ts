import type { resources } from '../../../contract/index.ts'

/** By the words that are typed. */
export const PROVIDERS = {
  github: 'GITHUB',
  gitlab: 'GITLAB',
  gitea: 'GITEA',
  forgejo: 'GITEA',
  bitbucket: 'BITBUCKET',
} as const satisfies Record<string, resources.RepositoryProvider>
