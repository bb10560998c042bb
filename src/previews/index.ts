export { createPreviews, type Previews } from './previews.ts'
export { createPreviewRemoval } from './removal.ts'
