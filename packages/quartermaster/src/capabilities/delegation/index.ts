import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createDelegateTask, createDelegateTaskAsync } from './delegate-task.ts'
import { createGetWorkspaceInfo, createListPeers } from './peers.ts'
import { createCancelTask, createCheckTaskStatus } from './task-status.ts'

/** Finding other agents and giving them tasks. */
export default defineModule({
  needs: ['workspace', 'delegation'],
  create({ workspace, delegation }) {
    return defineCapability({
      key: 'delegation',
      title: 'Delegation',
      short: 'Find the agents around you, give them tasks, and get the results.',
      inward: true,
      tools: [
        createDelegateTask({ delegation, workspace }),
        createDelegateTaskAsync({ delegation, workspace }),
        createCheckTaskStatus(delegation),
        createCancelTask(delegation),
        createListPeers(workspace),
        createGetWorkspaceInfo(workspace),
      ],
    })
  },
})
