export {
  type ActivityCursor,
  type ActivityLog,
  type ActivityPage,
  type ActivityQuery,
  activityCursor,
  type History,
  type HistoryPage,
  type TaskQuery,
} from './activity-log.ts'
export { type ActivityPruner, createActivityPruner } from './activity-pruner.ts'
export { chatHandlers, type MessageHandlersDeps, messageHandlers } from './handlers.ts'
export { type CarriedTasks, type Inbox, TASK_GUARD, type TakeRequest, type TaskChange, taskBusy } from './inbox.ts'
export {
  type Attachments,
  type Body,
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
  type Sent,
  requeueDraft,
  wholeParts,
  workspaceParty,
} from './message.ts'
export {
  type Chat,
  type ChatRows,
  createHistoryService,
  createInboxService,
  createMessages,
  createPeopleService,
  type Messages,
  type MessagesDeps,
} from './messages.ts'
export { createWatchers, type CheckResult, type Reader, readerOf, type Watchers, waitUntilFound } from './readers.ts'
export type { Sending } from './sending.ts'
