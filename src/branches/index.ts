export {
  type Branches,
  type BranchPreviews,
  createBranches,
  type Deployed,
  type Push,
  type Target,
} from './branches.ts'
export { createPushes, type Pushes, type Pushing } from './push.ts'
export { createGitServing, type GitRequest, type ServeGit } from './serving.ts'
