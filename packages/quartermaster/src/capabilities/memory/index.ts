import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createCommitMemory, createForgetMemory } from './commit-memory.ts'
import { createRecallMemory } from './recall-memory.ts'

/** Memory across sessions, for one agent, its team or the whole organisation. */
export default defineModule({
  needs: ['memory'],
  create({ memory }) {
    return defineCapability({
      key: 'memory',
      title: 'Memory',
      short: 'Remember facts across sessions, find them again, and share them with the team or the organisation.',
      inward: true,
      tools: [createCommitMemory(memory), createRecallMemory(memory), createForgetMemory(memory)],
    })
  },
})
