"""One lasting MQTT connection for a box or the cloud, over paho-mqtt."""

from common.mqtt.link import Delivery, Link
from common.mqtt.options import Farewell, LinkDown, LinkOptions, PublishRefused

__all__ = ["Delivery", "Farewell", "Link", "LinkDown", "LinkOptions", "PublishRefused"]
