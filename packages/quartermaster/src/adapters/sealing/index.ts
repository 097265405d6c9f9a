export { createSealer } from './sealer.ts'
