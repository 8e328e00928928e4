// The documented success body, and the schemas of the success, failure and 401 bodies, with their fields in the documented order.
import { Type } from 'typebox'

export interface AppIdentity {
  readonly appType: string
  readonly appVersion: string
}

export function successBody(app: AppIdentity, message: string, data: object, showMessage: 0 | 1) {
  return {
    app_type: app.appType,
    app_version: app.appVersion,
    maintainence: 0,
    new_version: 0,
    force_update: 0,
    invalid_token: 0,
    refresh_token: '',
    show_message: showMessage,
    is_enc: false,
    status: true,
    message,
    message_type: 'success',
    data,
    error: {},
  }
}

export function successSchema(data: ReturnType<typeof Type.Object>) {
  return Type.Object(
    {
      app_type: Type.String(),
      app_version: Type.String(),
      maintainence: Type.Integer(),
      new_version: Type.Integer(),
      force_update: Type.Integer(),
      invalid_token: Type.Integer(),
      refresh_token: Type.String(),
      show_message: Type.Integer(),
      is_enc: Type.Boolean(),
      status: Type.Boolean(),
      message: Type.String(),
      message_type: Type.String(),
      data,
      error: Type.Object({}),
    },
    { title: `${titleOf(data)}Response` },
  )
}

function titleOf(schema: object): string {
  if ('title' in schema && typeof schema.title === 'string') return schema.title
  throw new Error('the schema of `data` needs a title, its name in the API description')
}

const FieldProblemSchema = Type.Object({ field: Type.String(), message: Type.String() }, { title: 'FieldProblem' })

export const FailureSchema = Type.Object(
  {
    status: Type.Boolean(),
    message: Type.String(),
    message_type: Type.String(),
    data: Type.Object({}),
    error: Type.Object({ message: Type.String(), details: Type.Optional(Type.Array(FieldProblemSchema)) }),
  },
  { title: 'FailureResponse' },
)

export const UnauthenticatedSchema = Type.Object(
  { code: Type.Integer(), message: Type.String(), stack: Type.String() },
  { title: 'UnauthenticatedResponse' },
)
