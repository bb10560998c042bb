/** The commit that a CI works on, out of the variables that it sets. */
import type { CiCommit } from '../command.ts'

/** Of GitHub, GitLab, Bitbucket, CircleCI, Buildkite, Azure, Drone and Woodpecker, Travis, Jenkins. */
const CI_COMMITS: readonly { sha: string; branch: readonly string[]; subject?: string }[] = [
  { sha: 'GITHUB_SHA', branch: ['GITHUB_HEAD_REF', 'GITHUB_REF_NAME'] },
  { sha: 'CI_COMMIT_SHA', branch: ['CI_COMMIT_REF_NAME', 'CI_COMMIT_BRANCH'], subject: 'CI_COMMIT_TITLE' },
  { sha: 'BITBUCKET_COMMIT', branch: ['BITBUCKET_BRANCH'] },
  { sha: 'CIRCLE_SHA1', branch: ['CIRCLE_BRANCH'] },
  { sha: 'BUILDKITE_COMMIT', branch: ['BUILDKITE_BRANCH'], subject: 'BUILDKITE_MESSAGE' },
  { sha: 'BUILD_SOURCEVERSION', branch: ['BUILD_SOURCEBRANCHNAME'], subject: 'BUILD_SOURCEVERSIONMESSAGE' },
  { sha: 'DRONE_COMMIT_SHA', branch: ['DRONE_COMMIT_BRANCH'], subject: 'DRONE_COMMIT_MESSAGE' },
  { sha: 'TRAVIS_COMMIT', branch: ['TRAVIS_BRANCH'], subject: 'TRAVIS_COMMIT_MESSAGE' },
  { sha: 'GIT_COMMIT', branch: ['GIT_LOCAL_BRANCH', 'GIT_BRANCH'] },
]

export function ciCommitIn(env: Readonly<NodeJS.ProcessEnv>): CiCommit | undefined {
  for (const { sha, branch, subject } of CI_COMMITS) {
    const found = env[sha]?.trim().toLowerCase()
    if (!found) continue
    return {
      sha: found,
      branch: branch.map((name) => env[name]?.trim()).find(Boolean),
      subject: subject === undefined ? undefined : env[subject]?.split('\n', 1)[0],
    }
  }
  return undefined
}
