export { createExamples, type Examples } from './examples.ts'
