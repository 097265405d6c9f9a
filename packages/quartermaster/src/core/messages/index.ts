export { type ActivityCursor, activityCursor } from './activity-cursor.ts'
export type { ActivityLog, ActivityPage, ActivityQuery } from './activity-log.ts'
export { type ActivityPruner, createActivityPruner } from './activity-pruner.ts'
export { type Attachments, NO_ATTACHMENTS } from './attachments.ts'
export { type CarriedTasks, TASK_GUARD, type TaskChange, taskBusy } from './carried-tasks.ts'
export type { Chat, ChatRows } from './chat.ts'
export { chatHandlers } from './chat-handlers.ts'
export {
  type Body,
  chatOf,
  draftMessage,
  type MessageDraft,
  type NewMessage,
  type Party,
  personParty,
  waitsAgain,
  workspaceParty,
} from './draft.ts'
export { inboxMessage } from './facts.ts'
export type { History, HistoryPage, TaskQuery } from './history.ts'
export type { Inbox, TakeRequest } from './inbox.ts'
export { foreignConversation, type Post, type Sent } from './letter.ts'
export { createHistoryDesk, createInboxDesk, createPeopleDesk } from './message-desk.ts'
export { type MessageHandlersDeps, messageHandlers } from './message-handlers.ts'
export { messageText, wholeParts } from './message-text.ts'
export { createMessages, type Messages, type MessagesDeps } from './messages.ts'
export { type Reader, readerOf } from './readers.ts'
export type { Sending } from './sending.ts'
export { type Look, waitUntilFound } from './waiting.ts'
export { createWatchers, type Watchers } from './watchers.ts'
