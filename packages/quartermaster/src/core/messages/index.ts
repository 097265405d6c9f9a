export {
  type ActivityLog,
  type ActivityPage,
  activityCursor,
  type History,
} from './activity-log.ts'
export { createActivityPruner } from './activity-pruner.ts'
export { chatHandlers, messageHandlers } from './handlers.ts'
export { type CarriedTasks, type Inbox, TASK_GUARD, type TaskChange, taskBusy } from './inbox.ts'
export {
  type Attachments,
  type Body,
  bytesOf,
  chatOf,
  draftMessage,
  foreignConversation,
  inboxMessage,
  type MessageDraft,
  messageText,
  type NewMessage,
  NO_ATTACHMENTS,
  type Party,
  type Post,
  personParty,
  requeueDraft,
  type Sent,
  wholeParts,
  workspaceParty,
} from './message.ts'
export {
  type Chat,
  createHistoryService,
  createInboxService,
  createMessages,
  createPeopleService,
  type Messages,
} from './messages.ts'
export { type CheckResult, createWatchers, type Reader, readerOf, type Watchers, waitUntilFound } from './readers.ts'
export type { Sending } from './sending.ts'
